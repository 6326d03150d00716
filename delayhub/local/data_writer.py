"""Which server wrote the files of a Redis folder: another one may not be able to read them.

Valkey 9 writes a format that no Redis reads, and a release does not read what a later one wrote.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import NamedTuple

#: Where servers keep data: from version 7 on in a folder of its own, before that, and without append-only files.
_FILES = ("appendonlydir/*.base.rdb", "appendonly.aof", "dump.rdb")
#: A snapshot begins with a few pairs, each of a length and a text: the first one names the server and its version.
_HEAD_BYTES = 200
_WRITER = re.compile(rb"(redis|valkey)-ver[\x00-\x3f](\d+)\.(\d+)\.(\d+)")


class Server(NamedTuple):
    """A server program's family, ``Redis`` or ``Valkey``, and its version."""

    family: str
    version: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.family} {'.'.join(map(str, self.version))}"

    def reads(self, writer: Server) -> bool:
        """Return True if this server surely reads what the other one wrote."""
        return self.family == writer.family and self.version >= writer.version


def writer_of(folder: Path) -> Server | None:
    """Return the server that wrote the snapshot in a data folder; None where there is none, or it does not say."""
    for file in chain.from_iterable(folder.glob(pattern) for pattern in _FILES):
        with file.open("rb") as snapshot:
            found = _WRITER.search(snapshot.read(_HEAD_BYTES))
        if found is not None:
            family, *version = found.groups()
            return Server(family.decode().capitalize(), tuple(map(int, version)))
    return None
