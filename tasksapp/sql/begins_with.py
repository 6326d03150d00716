"""A condition: a text column begins with these characters, read from an index whatever the collation is."""

from __future__ import annotations

from typing import Any

from django.db.models import F, Lookup

#: The last character of Unicode, and the halves of surrogate pairs, which are no characters.
_LAST, _SURROGATES = 0x10FFFF, range(0xD800, 0xE000)


class BeginsWith(Lookup):
    """Whether the text begins with the prefix, upper and lower case apart: a range, from the prefix to what follows it.

    In PostgreSQL the range is compared byte by byte, as the operator class ``varchar_pattern_ops`` orders its indexes.
    A plain range is wrong where the database sorts as people do: there ``A-1`` lies between ``a`` and ``b``. LIKE would
    be right, but a prepared statement with a pattern as its parameter reads no index. In SQLite a column is sorted byte
    by byte, and LIKE would not tell upper from lower case.
    """

    lookup_name = "begins_with"
    prepare_rhs = False

    def __init__(self, column: str, prefix: str) -> None:
        super().__init__(F(column), prefix)

    def as_sql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """The range in plain SQL."""
        return self._range(compiler, connection, ">=", "<")

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """The range in the order of bytes."""
        return self._range(compiler, connection, "~>=~", "~<~")

    def _range(self, compiler: Any, connection: Any, at_least: str, below: str) -> tuple[str, tuple[str, ...]]:
        column, values = self.process_lhs(compiler, connection)
        end = after(self.rhs)
        if end is None:
            return f"{column} {at_least} %s", (*values, self.rhs)
        return f"({column} {at_least} %s AND {column} {below} %s)", (*values, self.rhs, *values, end)


def after(prefix: str) -> str | None:
    """The first text behind all that begin with the prefix; None where there is none."""
    for length in range(len(prefix), 0, -1):
        code = ord(prefix[length - 1])
        if code < _LAST:
            code += 1
            return prefix[: length - 1] + chr(_SURROGATES.stop if code in _SURROGATES else code)
    return None
