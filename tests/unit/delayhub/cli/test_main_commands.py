"""The commands that the pages show, and that each command says what it does."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from delayhub.cli.main import HOMES, OPTION, delayhub
from tests.page_blocks import PAGES, blocks_of, commands_in

#: What ends a command in a line of a shell.
ENDS = {"&&", "|", ">", "<", "#"}


#: Each command in the blocks of all pages that are for a shell.
TYPED = [
    command
    for page in PAGES
    for block in blocks_of(page)
    if block.language in {"", "sh", "console"}
    for command in commands_in(block)
    if command.startswith("delayhub ")
]


def words_of(command: str) -> list[str]:
    words = shlex.split(command, comments=True)[1:]
    end = next((number for number, word in enumerate(words) if word in ENDS), len(words))
    return words[:end] if words[:1] != [OPTION] else words[1:end]


@pytest.mark.parametrize("command", TYPED)
def test_each_command_on_the_pages_can_be_typed(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("orders.ndjson", "biz-types.json", "request.json", "feed.xml"):
        Path(name).write_text("{}")
    found: click.Command = delayhub
    context, words = click.Context(delayhub), words_of(command)

    while isinstance(found, click.Group):
        name, found_next, words = found.resolve_command(context, words)
        assert found_next is not None, name
        found = found_next
    assert found.make_context("delayhub", words)


def leaves(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from leaves(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


@pytest.mark.parametrize(("name", "command"), list(leaves(delayhub, "delayhub")))
def test_each_command_says_what_it_does_and_asks_a_site_by_the_same_options(name: str, command: click.Command) -> None:
    options = {option for parameter in command.params for option in parameter.opts}

    assert command.help, name
    if name.split()[1] not in {"up", "demo", "completion", "profiles"}:
        assert {"--json", "--profile", "--url"} <= options, name


def test_the_list_of_commands_has_a_line_for_each() -> None:
    listed = delayhub.get_help(click.Context(delayhub))

    assert all(name in listed for name in HOMES)
