"""The Lua scripts: one verb a file, its contract in the header, called by name.

A header reads, line by line: what the verb does, then ``KEYS:``, ``ARGV:``, ``Returns:``, ``Complexity:`` and
``Uses:``, which names the shared parts that are put before the verb. The names of key suffixes become the suffixes of
:mod:`delayhub.engine.keys`. Redis makes every function of a script at each call of it. Functions that most calls do not
use are therefore in the parts that ``Seldom:`` names, a field that a header may lack: ``seldom()`` makes them, at its
first call, and gives them by name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from redis.exceptions import NoScriptError

from delayhub.engine.keys import with_literals

FIELDS = ("KEYS", "ARGV", "Returns", "Complexity", "Uses")
SELDOM = "Seldom"

_FOLDER = files(__package__) / "lua"


class Executor(Protocol):
    """What the scripts need of a redis-py client."""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """The command's reply."""


@dataclass(frozen=True, slots=True)
class Script:
    """One verb: its contract, its whole source, and the SHA-1 by which Redis knows it."""

    name: str
    purpose: str
    contract: dict[str, str]
    source: str
    sha: str

    def command(self, keys: Sequence[str], args: Sequence[Any]) -> tuple[Any, ...]:
        """The EVALSHA command, for callers that send and read by themselves."""
        return ("EVALSHA", self.sha, len(keys), *keys, *args)

    def run(self, client: Executor, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """The script's reply. Sends the source to a server that does not know it: flushed, restarted, failed over.

        Raises:
            redis.RedisError: the server cannot be reached, or refuses the script.
        """
        try:
            return client.execute_command("EVALSHA", self.sha, len(keys), *keys, *args)
        except NoScriptError:
            return client.execute_command("EVAL", self.source, len(keys), *keys, *args)


def names() -> list[str]:
    """The names of all verbs."""
    return sorted(file.name.removesuffix(".lua") for file in _FOLDER.iterdir() if file.name.endswith(".lua"))


@cache
def script(name: str) -> Script:
    """The verb of that name, with the parts that it uses put before it."""
    body = (_FOLDER / f"{name}.lua").read_text()
    purpose, contract = parse_header(body)
    seldom = _parts(contract.get(SELDOM, "none"))
    parts = _parts(contract["Uses"])
    code = "\n".join(["local seldom", *parts, _made_when_wanted(seldom), body] if seldom else [*parts, body])
    source = with_literals(code)
    return Script(name, purpose, contract, source, hashlib.sha1(source.encode()).hexdigest())  # noqa: S324  Redis' own name for it


def _parts(names: str) -> list[str]:
    """The sources of the parts that a field of a header names."""
    return [(_FOLDER / "parts" / f"{part}.lua").read_text() for part in names.split(", ") if part != "none"]


def _made_when_wanted(parts: Sequence[str]) -> str:
    """The function ``seldom``, which makes the functions of these parts at its first call, and gives them by name."""
    source = "\n".join(parts)
    made = ", ".join(f"{name} = {name}" for name in re.findall(r"^local function (\w+)", source, re.MULTILINE))
    return (
        f"local made\nseldom = function()\nif made then return made end\n{source}\nmade = {{{made}}}\nreturn made\nend"
    )


def parse_header(body: str) -> tuple[str, dict[str, str]]:
    """The purpose and the contract in a script's leading comment.

    Raises:
        ValueError: a field is missing; the message names it.
    """
    text: list[str] = []
    contract: dict[str, list[str]] = {}
    here = text
    for line in body.splitlines():
        if not line.startswith("--"):
            break
        content = line.removeprefix("--").strip()
        field = re.match(r"([A-Za-z]+): ?(.*)", content)
        if field and field[1] in {*FIELDS, SELDOM}:
            here = contract.setdefault(field[1], [])
            content = field[2]
        here.append(content)
    for name in FIELDS:
        if name not in contract:
            raise ValueError(f"the script header lacks {name}:")
    return " ".join(text), {name: " ".join(lines) for name, lines in contract.items()}
