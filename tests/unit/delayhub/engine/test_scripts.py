"""The Lua scripts: each header says what its body does, and none is too long to read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from delayhub.engine.scripts import FIELDS, names, parse_header, script
from tests.repository import ROOT

LUA = ROOT / "delayhub/engine/lua"


@pytest.mark.parametrize("name", names())
def test_a_header_says_what_its_body_does(name: str) -> None:
    verb = script(name)
    body = (LUA / f"{name}.lua").read_text()
    code = "\n".join(line for line in body.splitlines() if not line.lstrip().startswith("--"))

    assert verb.purpose
    assert set(verb.contract) == set(FIELDS)
    # keys: as many as the body reads (a claim over many queues counts them)
    numbers = [int(number) for number in re.findall(r"KEYS\[(\d)\]", code)]
    said = 0 if verb.contract["KEYS"] == "none" else len(verb.contract["KEYS"].split(", "))
    if "#KEYS" not in code and numbers:
        assert said >= max(numbers)
    # arguments: none said, none read
    assert (verb.contract["ARGV"] == "none") == ("ARGV" not in code)
    # parts: those said are those there are
    for part in verb.contract["Uses"].split(", "):
        assert part == "none" or (LUA / "parts" / f"{part}.lua").exists()


@pytest.mark.parametrize("path", sorted(LUA.rglob("*.lua")), ids=lambda path: path.stem)
def test_a_script_is_short_enough_to_read_at_once(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 60


def test_every_part_is_used() -> None:
    used = {part for name in names() for part in script(name).contract["Uses"].split(", ")}

    assert {path.stem for path in (LUA / "parts").glob("*.lua")} == used - {"none"}


def test_a_header_without_a_field_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="lacks Returns:"):
        parse_header("-- Does it.\n-- KEYS: queue\n-- ARGV: none\n")


def test_a_command_is_evalsha_with_its_keys_counted() -> None:
    command = script("count").command(["a"], [1, 2])

    assert command == ("EVALSHA", script("count").sha, 1, "a", 1, 2)
