"""Every text that people see is translated, and what is installed is what was written."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator

from babel.messages.catalog import Message

from tests.messages import MO, found, is_untranslated, sources, texts_of, translated, translations_of
from tests.repository import ROOT, python_files, tree_of

#: A placeholder as Python's % writes it.
PLACEHOLDER = re.compile(r"%(?:\((?P<name>\w+)\))?[-+ 0#]*\d*(?:\.\d+)?[sdrfgx]|%%")
MESSAGES = [message for message in translated() if message.id]


def named(message: Message) -> str:
    return texts_of(message)[0][:60]


def test_every_text_of_the_sources_is_in_the_po_file_and_no_other() -> None:
    held = {(message.context, *texts_of(message)) for message in MESSAGES}
    wanted = {(message.context, *texts_of(message)) for message in found() if message.id}

    assert wanted - held == set(), "run `make messages` and translate what it lists"
    assert held - wanted == set(), "run `make messages`: these texts are gone"


def test_nothing_is_fuzzy_and_nothing_is_missing() -> None:
    assert [named(message) for message in MESSAGES if message.fuzzy or is_untranslated(message)] == []


def test_a_translation_has_the_placeholders_of_its_text() -> None:
    others = [
        text
        for message in MESSAGES
        for text in translations_of(message)
        if placeholders(text) != placeholders(texts_of(message)[-1])
    ]

    assert others == []


def placeholders(text: str) -> set[str]:
    return {match.group() for match in PLACEHOLDER.finditer(text)}


def test_what_is_compiled_is_what_was_written() -> None:
    with MO.open("rb") as stream:
        compiled = gettext.GNUTranslations(stream)

    for message in MESSAGES:
        texts = texts_of(message)
        if message.context:
            assert compiled.pgettext(message.context, texts[0]) == translations_of(message)[0]
        elif len(texts) == 1:
            assert compiled.gettext(texts[0]) == translations_of(message)[0]
        else:
            assert compiled.ngettext(*texts, 2) == translations_of(message)[0]


def test_no_template_shows_a_text_that_is_not_translated() -> None:
    bare: set[str] = set()
    for name, _ in sources():
        if name.endswith(".html"):
            for text in bare_texts((ROOT / name).read_text()):
                bare.add(f"{name}: {text}")

    assert bare == set()


def test_no_page_in_python_shows_a_text_that_is_not_translated() -> None:
    bare = {
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in python_files("tasksapp/admin")
        for line, text in bare_strings(tree_of(path))
    }

    assert bare == set()


#: Arguments, attributes and entries of contexts that people read.
SHOWN = {
    "description", "label", "help_text", "verbose_name", "verbose_name_plural", "title", "search_help_text",
    "empty_label",
}  # fmt: skip
#: Functions whose argument, the first or that after the request, people read.
SHOWING = {"badge": 0, "ValidationError": 0, "Crumb": 0, "message_user": 1, "add_error": 1, "error": 1, "success": 1}


def bare_strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts in a module that people read and that do not go through gettext, with their lines."""
    for node in ast.walk(tree):
        shown: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=keywords):
                shown += [keyword.value for keyword in keywords if keyword.arg in SHOWN]
                if name in SHOWING and len(args) > SHOWING[name]:
                    shown.append(args[SHOWING[name]])
            case ast.Dict(keys=keys, values=values):
                shown += [
                    value
                    for key, value in zip(keys, values, strict=True)
                    if isinstance(key, ast.Constant) and key.value in SHOWN
                ]
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in SHOWN:
                shown.append(value)
            case ast.Tuple(elts=[first, ast.Dict(keys=keys)]):
                if any(isinstance(key, ast.Constant) and key.value == "fields" for key in keys):
                    shown.append(first)  # the title of a set of fields
        for value in shown:
            words = " ".join(part.value for part in ast.walk(value) if isinstance(part, ast.Constant) and is_text(part))
            if isinstance(value, ast.Constant | ast.JoinedStr) and words:
                yield value.lineno, words


def is_text(part: ast.Constant) -> bool:
    return isinstance(part.value, str) and re.search(r"[A-Za-z]{2}", part.value) is not None


#: Names, and what has no language.
NO_WORDS = {"DelayHub", "Celery", "Redis", "API", "JSON", "UTC", "p50", "p99", "ms"}
_SKIPPED = re.compile(
    r"{%\s*comment.*?{%\s*endcomment\s*%}|{%\s*blocktrans.*?{%\s*endblocktrans\w*\s*%}|{#.*?#}"
    r"|<(style|script|svg)\b.*?</\1>|<!--.*?-->",
    re.DOTALL,
)
_CODE = re.compile(r"{[{%].*?[%}]}|&\w+;|&#\w+;|<code>.*?</code>|<kbd>.*?</kbd>", re.DOTALL)
#: What may stand between words: punctuation, and arrows and dashes of several kinds.
_MARKS = " \t\u2026:.,;/|()[]\u00b7\u2013-\u2192\u203a+"


def bare_texts(source: str) -> list[str]:
    """What a template shows as it stands: words between tags, and in the attributes that people see or hear."""
    source = _SKIPPED.sub(" ", source)
    given = re.findall(r'{%\s*include [^%]*?="([^"]* [^"]*)"', source)
    source = _CODE.sub(" ", source)
    shown = given + re.findall(r'\b(?:aria-label|title|placeholder|alt|data-label)="([^"]*)"', source)
    shown += re.sub(r"<[^>]*>", "\n", source).splitlines()
    stripped = (text.strip(_MARKS) for text in shown)
    return [text for text in stripped if re.search(r"[A-Za-z]{2}", text) and text not in NO_WORDS]


#: English words of the glossary that Chinese sentences have words of their own for.
GLOSSARY = re.compile(
    r"(?<![\w.=/:@'-])(worker|broker|loader|job|task|queue|callback|breaker|lane|lease|issue|series|attempt)s?(?![\w.=/:-])",
    flags=re.IGNORECASE,
)
#: What stands in a sentence as it is in every language: a placeholder, a tag with its code, a command in quotes.
VERBATIM = re.compile(rf"{PLACEHOLDER.pattern}|<code>.*?</code>|<[^>]*>|“[^”]*”|\{{[^}}]*\}}")


def test_a_chinese_sentence_has_no_english_word_of_the_glossary() -> None:
    mixed = [text for message in MESSAGES for text in translations_of(message) if GLOSSARY.search(without_code(text))]

    assert mixed == []


def test_a_chinese_sentence_calls_a_job_by_its_own_word_and_not_by_that_of_a_task() -> None:
    confused = [
        text
        for message in MESSAGES
        for text in translations_of(message)
        if (english := " ".join(texts_of(message)).lower()) and "job" in english and "task" not in english
        if "任务" in text
    ]

    assert confused == []


def test_chinese_characters_have_no_blank_between_them_and_addresses_no_wide_colon() -> None:
    odd = [
        text
        for message in MESSAGES
        for text in translations_of(message)
        if re.search(r"[\u4e00-\u9fff] [\u4e00-\u9fff]|\uff1a//", without_code(text))
    ]

    assert odd == []


def without_code(text: str) -> str:
    return VERBATIM.sub("·", text)
