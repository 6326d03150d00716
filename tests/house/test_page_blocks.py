"""Every fenced block of the pages runs, or can be typed, or says why not; and the README's are those of the pages."""

from __future__ import annotations

import json
import re
import shlex

import pytest
import yaml
from django.core.management import get_commands, load_command_class
from django.urls import Resolver404, resolve

from delayhub.celery_support.command import delayhub
from tests.page_blocks import NO_CODE, PAGES, Block, blocks_of, commands_in
from tests.repository import ROOT

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
#: What blocks for a shell may begin with, and who looks at it beside the tests below.
ELSEWHERE = {
    "delayhub": "tests/unit/delayhub/cli/test_main_commands.py",
    "pip": "tests/house/test_extras.py",
    "make": "tests/house/test_readme.py",
    "export": "the shell",
    "cd": "the shell",
    "git": "the shell",
}
#: The command that a page's examples of a REST call begin with, and what stands for the site in their addresses.
SITE = re.compile(r"^(?:\$SITE|\$DELAYHUB_URL|https?://[\w.:]+)")


def in_shells() -> list[tuple[Block, str]]:
    return [
        (block, command)
        for block in BLOCKS
        if block.language in {"", "sh", "console"} and block.runs
        for command in commands_in(block)
    ]


COMMANDS = in_shells()


def those_of(*words: str) -> list[pytest.param]:
    found = [(block, command) for block, command in COMMANDS if command.startswith(words)]
    return [pytest.param(command, id=str(block)) for block, command in found]


def test_each_block_has_a_language_that_is_looked_at() -> None:
    known = {"python", "json", "yaml", "sh", "", "console", *NO_CODE}

    assert [str(block) for block in BLOCKS if block.runs and block.language not in known] == []


def test_a_block_that_does_not_run_says_why_or_by_which_test_it_is_run() -> None:
    wrong = [
        str(block)
        for block in BLOCKS
        if not block.runs
        and len(block.marks.get("not run", "")) < len("it is long")
        and str(block.page.relative_to(ROOT)) not in text_of_test(block.marks.get("run by", ""))
    ]

    assert wrong == []


def text_of_test(name: str) -> str:
    path = ROOT / name
    return path.read_text() if path.is_file() else ""


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "json" and block.runs], ids=str)
def test_json_can_be_read(block: Block) -> None:
    text = re.sub(r",\s*…", "", block.text).strip()  # what is left out
    values = []
    while text:
        value, end = json.JSONDecoder().raw_decode(text)
        values.append(value)
        text = text[end:].strip()

    assert values


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "yaml" and block.runs], ids=str)
def test_yaml_can_be_read(block: Block) -> None:
    assert isinstance(yaml.safe_load(block.text), dict | list)


def test_each_command_begins_with_a_program_that_is_looked_at() -> None:
    known = ("celery -A shop delayhub ", "celery -A shop worker", "python manage.py ", "manage.py ", "curl ")

    strange = {
        str(block): command
        for block, command in COMMANDS
        if not command.startswith(known) and command.split()[0] not in ELSEWHERE
    }

    assert strange == {}


@pytest.mark.parametrize("command", those_of("celery -A shop delayhub "))
def test_a_command_of_celery_can_be_typed(command: str) -> None:
    _, _, _, _, name, *words = shlex.split(command)
    found = delayhub.commands[name]

    assert found.make_context(name, words)


@pytest.mark.parametrize("command", those_of("python manage.py ", "manage.py "))
def test_a_command_of_django_can_be_typed(command: str) -> None:
    _, name, *words = shlex.split(command.removeprefix("python ").split(" > ")[0].split(" && ")[0])
    made = load_command_class(get_commands()[name], name)

    assert made.create_parser("manage.py", name).parse_args(words)


@pytest.mark.parametrize("command", those_of("curl "))
def test_a_call_goes_to_an_address_of_the_api_with_json_in_it(command: str) -> None:
    words = shlex.split(command)
    [address] = [SITE.sub("", word) for word in words if SITE.match(word)]
    path = re.sub(r"\$(ID|TOKEN)", "01a1fcb9-e182-7773-bac4-bf777e5e56f2", address.split("?")[0])
    bodies = [words[place + 1] for place, word in enumerate(words) if word in {"-d", "--data"}]

    try:
        assert resolve(path)
    except Resolver404:
        assert resolve(path.replace("/timeouts/", "/api/"))  # where the page's own project has it
    for body in bodies:
        assert isinstance(json.loads(body), dict)
    assert bodies or "-d" not in command
