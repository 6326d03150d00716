"""ExportFile: an export that is read: first looked through as a whole, then record by record."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from tasksapp.errors import InvalidExport
from tasksapp.transfer.exporter import VERSION
from tasksapp.transfer.record import KINDS


class ExportFile:
    """A file that was looked through: it is whole, and nothing in it was changed.

    Args:
        file: opened to read bytes, and able to go back to its beginning.

    Raises InvalidExport where it ends too early, or is no export.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.head = self._read_head()
        #: How many rows of each kind it has.
        self.counts: Counter[str] = Counter()
        digest, end = hashlib.sha256(), None
        for number, line in self._lines():
            if end is not None:
                raise InvalidExport(f"line {number}: there is something after its end")
            record = _read(line, number)
            if record["kind"] == "end":
                end = record
                continue
            digest.update(line)
            if number > 1:
                self.counts[_known_kind(record, number)] += 1
        if end is None:
            raise InvalidExport("its end is missing: it was cut off")
        if end.get("sha256") != digest.hexdigest() or end.get("counts") != dict(self.counts):
            raise InvalidExport("it is not as it was written: its checksum differs")

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Its rows, each with the number of its line."""
        for number, line in self._lines():
            record = _read(line, number)
            if number > 1 and record["kind"] != "end":
                yield number, record

    def _read_head(self) -> dict[str, Any]:
        head = next((_read(line, number) for number, line in self._lines()), {"kind": ""})
        if head["kind"] != "export" or not isinstance(head.get("tenant"), str):
            raise InvalidExport("it is no export: its first line does not say so")
        if head.get("version") != VERSION:
            raise InvalidExport(f"its version is {head.get('version')!r:.20}; this release reads version {VERSION}")
        return head

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        self._file.seek(0)
        return enumerate(self._file, start=1)


def _read(line: bytes, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        raise InvalidExport(f"line {number} is no JSON: it is cut off, or no export") from None
    if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
        raise InvalidExport(f"line {number} is no record of an export")
    return record


def _known_kind(record: dict[str, Any], number: int) -> str:
    kind: str = record["kind"]
    if kind not in KINDS:
        raise InvalidExport(f"line {number}: there is no kind {kind!r:.40}; a later release wrote it")
    return kind
