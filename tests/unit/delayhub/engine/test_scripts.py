"""The Lua scripts: each header says what its body does, and none is too long to read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from delayhub.engine.scripts import FIELDS, SELDOM, names, parse_header, script
from tests.repository import ROOT

LUA = ROOT / "delayhub/engine/lua"
#: Commands that the oldest server has, as far as scripts send them. A new one needs a look at its "since".
KNOWN_SINCE_6_2 = {
    *("DEL", "EXISTS", "GET", "INCR", "INCRBY", "LLEN", "MGET", "PEXPIRE", "PTTL", "RPUSH", "SET", "TIME", "UNLINK"),
    *("HDEL", "HEXISTS", "HGET", "HINCRBY", "HLEN", "HMGET", "HRANDFIELD", "HSET", "HSETNX"),
    *("ZADD", "ZCARD", "ZCOUNT", "ZMSCORE", "ZPOPMIN", "ZRANDMEMBER", "ZRANGE", "ZRANGEBYLEX", "ZRANGEBYSCORE"),
    *("ZREM", "ZREMRANGEBYRANK", "ZREMRANGEBYSCORE", "ZREVRANGE", "ZSCORE"),
}


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


def test_the_scripts_send_what_redis_6_2_knows() -> None:
    source = "\n".join(path.read_text() for path in LUA.rglob("*.lua"))
    sent = {command for first in ("call", "pcall") for command in re.findall(rf"redis\.{first}\(\s*'(\w+)'", source)}

    assert len(re.findall(r"redis\.p?call\(", source)) == len(re.findall(r"redis\.p?call\(\s*'[A-Z]+'", source))
    assert sent <= KNOWN_SINCE_6_2
    # words that commands of the list take since 7.0 only
    assert not re.findall(r"'PEXPIRE',[^\n]*'(?:NX|XX|GT|LT)'", source)
    assert not re.findall(r"redis\.(?:acl_check_cmd|REDIS_VERSION\w*)|^#!lua", source, re.MULTILINE)


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
