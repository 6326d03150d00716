"""A mistake in a statement of PostgreSQL's, put in by its text as it is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any
from unittest.mock import patch

from django.db import connections
from django.db.backends.utils import CursorWrapper

from proof.mutant import TextMutant
from tasksapp.sql import claim_jobs, claim_keys, keep_last, leases, ordered_keys, replace_jobs, write_outcomes
from tasksapp.sql.driver.prepared import StatementByIds

_MODULES: Sequence[ModuleType] = (
    claim_jobs, claim_keys, keep_last, leases, ordered_keys, replace_jobs, write_outcomes,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatementMutant(TextMutant):
    """One mistake in statements. Its text has no parameters, which are written otherwise in a prepared form."""

    @contextmanager
    def made(self) -> Iterator[None]:
        """Inside, the mistake is made.

        Raises:
            LookupError: no statement has the text, so nothing would be tried.
        """
        if not any(self.right in text for text in statements()):
            raise LookupError(f"no statement has the text of {self.name!r}")
        execute = CursorWrapper.execute

        def execute_wrong(cursor: CursorWrapper, sql: Any, params: Any = None) -> Any:
            return execute(cursor, sql.replace(self.right, self.wrong) if isinstance(sql, str) else sql, params)

        with patch.object(CursorWrapper, "execute", execute_wrong):
            connections.close_all()  # and with it what is prepared
            yield
        connections.close_all()


@cache
def statements() -> tuple[str, ...]:
    """The texts of statements that a mutant may be of."""
    values = [value for module in _MODULES for value in vars(module).values()]
    values.append(claim_jobs.claim_statement())
    return tuple(value.sql if isinstance(value, StatementByIds) else value
                 for value in values if isinstance(value, StatementByIds | str))  # fmt: skip
