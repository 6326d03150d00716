"""COPY in PostgreSQL's binary format: half the price of text, in Python and in the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from struct import Struct
from typing import Any

from django.db.models import ForeignKey, Model

from tasksapp.sql.driver.microseconds import postgresql_microseconds

#: Rows that are sent at once; the server stores them while the next ones are packed.
PIECE_ROWS = 50

_SIGNATURE, _END = b"PGCOPY\n\xff\r\n\x00" + bytes(8), b"\xff\xff"
_NULL, _EMPTY = b"\xff\xff\xff\xff", b"\x00\x00\x00\x00"


@dataclass(frozen=True)
class Form:
    """How values of a PostgreSQL type are packed.

    Args:
        type: PostgreSQL's name of the type.
        code: the code of ``struct`` for a value of fixed length; '' for text and bytes.
        convert: turns a Python value into what ``struct`` takes; None where it is that already.
    """

    type: str
    code: str
    convert: Callable[[Any], Any] | None = None

    @cached_property
    def length(self) -> int:
        """Bytes of a value."""
        return Struct(f">{self.code}").size

    def encode(self, column: Sequence[Any]) -> list[bytes]:
        """The values of a column, each with its length."""
        if self.type == "bytea":
            return [_NULL if raw is None else len(raw).to_bytes(4, "big") + raw for raw in column]
        if not self.code:
            return [len(raw := text.encode()).to_bytes(4, "big") + raw if text else _EMPTY for text in column]
        pack = Struct(f">i{self.code}").pack
        values = (
            column if self.convert is None else [None if value is None else self.convert(value) for value in column]
        )
        return [_NULL if value is None else pack(self.length, value) for value in values]


_TEXT = Form("text", "")
#: By Django's name of a field's type.
_FORMS = {
    "UUIDField": Form("uuid", "16s", lambda value: value.bytes),
    "BigAutoField": Form("bigint", "q"),
    "BigIntegerField": Form("bigint", "q"),
    "PositiveIntegerField": Form("integer", "i"),
    "PositiveSmallIntegerField": Form("smallint", "h"),
    "DateTimeField": Form("timestamp with time zone", "q", postgresql_microseconds),
    "CharField": _TEXT,
    "TextField": _TEXT,
    "BinaryField": Form("bytea", ""),
}


def form_of(field: Any) -> Form:
    """The form of a model's field; KeyError for a type that no job has had so far."""
    return _FORMS[(field.target_field if isinstance(field, ForeignKey) else field).get_internal_type()]


class BinaryCopy:
    """A COPY of rows of one shape. For each value it is sent the length in bytes (-1 for NULL) and the bytes.

    Columns of fixed length go first, packed together; then what all rows share, packed once; then the others.

    Args:
        model: whose table is filled.
        columns: for each column, where in a row its value stands.
        shared: columns that have one value in all rows of a call.
    """

    def __init__(self, model: type[Model], columns: Mapping[str, int], *, shared: Sequence[str]) -> None:
        fields: dict[str, Any] = {name: model._meta.get_field(name) for name in (*columns, *shared)}
        fixed = [name for name in columns if form_of(fields[name]).code and not fields[name].null]
        others = [name for name in columns if name not in fixed]
        self.columns = (*fixed, *shared, *others)
        self.statement = f"COPY {model._meta.db_table} ({', '.join(self.columns)}) FROM STDIN (FORMAT binary)"
        self._fixed = [(columns[name], form_of(fields[name])) for name in fixed]
        self._converted = {index: form.convert for index, form in self._fixed if form.convert is not None}
        self._head = Struct(">h" + "".join(f"i{form.code}" for _, form in self._fixed))
        self._shared = [form_of(fields[name]) for name in shared]
        self._others = [(columns[name], form_of(fields[name])) for name in others]

    def pieces(self, rows: Sequence[Sequence[Any]], *, shared: Sequence[Any]) -> Iterator[bytes]:
        """What is to be sent, some rows at a time; ``shared`` are the values of the shared columns."""
        same = b"".join(form.encode([value])[0] for form, value in zip(self._shared, shared, strict=True))
        yield _SIGNATURE
        for start in range(0, len(rows), PIECE_ROWS):
            # Column by column, since each step is then a loop in C.
            columns: list[Sequence[Any]] = list(zip(*rows[start : start + PIECE_ROWS], strict=True))
            others = [form.encode(columns[index]) for index, form in self._others]
            for index, convert in self._converted.items():
                columns[index] = list(map(convert, columns[index]))
            values = chain.from_iterable((repeat(form.length), columns[index]) for index, form in self._fixed)
            heads = map(self._head.pack, repeat(len(self.columns)), *values)
            yield b"".join(chain.from_iterable(zip(heads, repeat(same), *others, strict=False)))
        yield _END
