"""The Lua scripts: one verb a file, its contract in the header, called by name.

A header reads, line by line: what the verb does, then ``KEYS:``, ``ARGV:``, ``Returns:``, ``Complexity:`` and
``Uses:``, which names the shared parts that are put before the verb. Before those come the key suffixes of
:mod:`delayhub.engine.keys`.
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

from delayhub.engine.keys import lua_constants

FIELDS = ("KEYS", "ARGV", "Returns", "Complexity", "Uses")

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
    uses = [part for part in contract["Uses"].split(", ") if part != "none"]
    parts = [(_FOLDER / "parts" / f"{part}.lua").read_text() for part in uses]
    code = "\n".join([*parts, body])
    source = lua_constants(code) + code
    return Script(name, purpose, contract, source, hashlib.sha1(source.encode()).hexdigest())  # noqa: S324  Redis' own name for it


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
        if field and field[1] in FIELDS:
            here = contract.setdefault(field[1], [])
            content = field[2]
        here.append(content)
    for name in FIELDS:
        if name not in contract:
            raise ValueError(f"the script header lacks {name}:")
    return " ".join(text), {name: " ".join(lines) for name, lines in contract.items()}
