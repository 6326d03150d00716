"""The Lua scripts: each header says what its body does, and none is too long to read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from delayhub.engine.scripts import FIELDS, SELDOM, names, parse_header, script
from tests.repository import ROOT

LUA = ROOT / "delayhub/engine/lua"


def parts_of(name: str) -> list[str]:
    """The parts that a verb's header names."""
    contract = script(name).contract
    named = [*contract["Uses"].split(", "), *contract.get(SELDOM, "none").split(", ")]
    return [part for part in named if part != "none"]


def functions_of(source: str) -> set[str]:
    """The names of the functions that a source makes."""
    return set(re.findall(r"^local function (\w+)", source, re.MULTILINE))


@pytest.mark.parametrize("name", names())
def test_a_header_says_what_its_body_does(name: str) -> None:
    verb = script(name)
    body = (LUA / f"{name}.lua").read_text()
    code = "\n".join(line for line in body.splitlines() if not line.lstrip().startswith("--"))

    assert verb.purpose
    assert set(verb.contract) - {SELDOM} == set(FIELDS)
    # keys: as many as the body reads (a claim over many queues counts them)
    numbers = [int(number) for number in re.findall(r"KEYS\[(\d)\]", code)]
    said = 0 if verb.contract["KEYS"] == "none" else len(verb.contract["KEYS"].split(", "))
    if "#KEYS" not in code and numbers:
        assert said >= max(numbers)
    # arguments: none said, none read
    assert (verb.contract["ARGV"] == "none") == ("ARGV" not in code)
    # parts: those said are those there are
    for part in parts_of(name):
        assert (LUA / "parts" / f"{part}.lua").exists()


@pytest.mark.parametrize("path", sorted(LUA.rglob("*.lua")), ids=lambda path: path.stem)
def test_a_script_is_short_enough_to_read_at_once(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 60


def test_every_part_is_used() -> None:
    used = {part for name in names() for part in parts_of(name)}

    assert {path.stem for path in (LUA / "parts").glob("*.lua")} == used


@pytest.mark.parametrize("name", names())
def test_a_script_calls_functions_that_it_has_made_before(name: str) -> None:
    code = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "''", script(name).source)
    begin = code.find("\nseldom = function()")
    end = code.find("\nreturn made\nend", begin)
    of_parts = {found for path in (LUA / "parts").glob("*.lua") for found in functions_of(path.read_text())}

    for call in re.finditer(r"(?<![\w.])(\w+)\(", code):
        before = code[: call.end()]
        # What the rarely needed parts make is seen by themselves only; others ask seldom() for it.
        seen = before if call.start() < end or begin < 0 else before[:begin] + before[end:]
        assert call[1] not in of_parts or call[1] in functions_of(seen), call[1]
    asked = set(re.findall(r"seldom\(\)\.(\w+)", code))
    assert asked <= functions_of(code[begin:end] if begin >= 0 else "")


def test_a_header_without_a_field_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="lacks Returns:"):
        parse_header("-- Does it.\n-- KEYS: queue\n-- ARGV: none\n")


def test_a_command_is_evalsha_with_its_keys_counted() -> None:
    command = script("count").command(["a"], [1, 2])

    assert command == ("EVALSHA", script("count").sha, 1, "a", 1, 2)
