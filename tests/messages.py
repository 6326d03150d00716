"""The texts that people see, and their translations: ``make messages``.

It finds every text that goes through gettext in ``tasksapp``, in ``delayhub/project`` and in the templates of both,
brings the .po file up to date and compiles it. All translations are in one place, ``tasksapp/locale``, so that they
travel with the app. It needs Babel and no GNU gettext, so that it works wherever the tests do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from tests.repository import ROOT, python_files

FOLDER = ROOT / "tasksapp/locale/zh_Hans/LC_MESSAGES"
PO, MO = FOLDER / "django.po", FOLDER / "django.mo"

_ONE, _TWO = None, (1, 2)
KEYWORDS: dict[str, Any] = {
    "_": _ONE,
    "gettext": _ONE,
    "gettext_lazy": _ONE,
    "gettext_noop": _ONE,
    "ngettext": _TWO,
    "ngettext_lazy": _TWO,
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
TEMPLATES = ("tasksapp/templates", "templates")


def sources() -> Iterator[tuple[str, str]]:
    """Every file with texts, and what it holds as Python."""
    for path in python_files("tasksapp", "delayhub/project"):
        yield str(path.relative_to(ROOT)), path.read_text()
    for folder in TEMPLATES:
        for path in sorted((ROOT / folder).rglob("*.html")):
            name = str(path.relative_to(ROOT))
            # Its lines are indented as HTML is, which Python would not read.
            lines = templatize(path.read_text(), origin=name).splitlines()
            yield name, "\n".join(line.strip() for line in lines)


def found() -> Catalog:
    """Every text of the sources."""
    catalog = Catalog(charset="utf-8")
    for name, text in sources():
        if not any(f"{keyword}(" in text for keyword in KEYWORDS):
            continue  # most of the time would go into reading it word by word
        for line, message, comments, context in extract("python", BytesIO(text.encode()), KEYWORDS):
            catalog.add(message, None, [(name, line)], user_comments=comments, context=context)
    return catalog


def translated() -> Catalog:
    """What the .po file holds."""
    with PO.open("rb") as stream:
        return read_po(stream, locale="zh_Hans")


def update() -> Catalog:
    """Brings the .po file up to date with the sources and compiles it; gives back what it holds now."""
    catalog = translated()
    created, revised = catalog.creation_date, catalog.revision_date
    catalog.update(found(), no_fuzzy_matching=True)
    # Dates would change the file where no text did.
    catalog.creation_date, catalog.revision_date = created, revised
    catalog.project, catalog.version = "DelayHub", "1"
    catalog.last_translator = catalog.language_team = catalog.msgid_bugs_address = ""
    with PO.open("wb") as stream:
        write_po(stream, catalog, width=0, sort_output=True, ignore_obsolete=True, include_lineno=False)
    with MO.open("wb") as stream:
        write_mo(stream, translated())
    return catalog


def texts_of(message: Message) -> list[str]:
    """A message's texts in English: one, or the singular and the plural."""
    return [message.id] if isinstance(message.id, str) else list(message.id)


def translations_of(message: Message) -> list[str]:
    """A message's translations: one for each form that Chinese has."""
    return [message.string] if isinstance(message.string, str) else list(message.string or [""])


def is_untranslated(message: Message) -> bool:
    """Whether a translation is missing."""
    return bool(message.id) and not all(translations_of(message))


def main() -> None:
    """Updates the files, and lists what has no translation yet."""
    missing = [message for message in update() if is_untranslated(message)]
    for message in missing:
        sys.stdout.write(f"{message.locations[0][0]}: {texts_of(message)[0]!r}\n")
    where = Path(PO).relative_to(ROOT)
    sys.stdout.write(f"{len(missing)} texts of {where} have no translation\n")


if __name__ == "__main__":
    main()
