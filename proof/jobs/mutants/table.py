"""All mistakes on the way from a job's creation to its callback; SQLite's side where the two databases differ."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from proof.code_mutant import CodeMutant, ValueMutant
from proof.jobs.mutants.answers import ANSWERS
from proof.jobs.mutants.callers import CALLERS
from proof.jobs.mutants.claims import CLAIMS
from proof.jobs.mutants.keeping import KEEPING
from proof.jobs.mutants.leases import LEASES
from proof.jobs.mutants.lines import LINES
from proof.jobs.mutants.outcomes import OUTCOMES
from proof.jobs.mutants.postgresql import POSTGRESQL
from proof.jobs.mutants.retries import RETRIES
from proof.jobs.mutants.scripts import SCRIPTS
from proof.jobs.mutants.timers import TIMERS
from proof.jobs.mutants.transitions import TRANSITIONS
from proof.mutant import Mutant
from proof.statement_mutant import StatementMutant
from proof.virtual_time import sources, virtual_time

JobMutant = CodeMutant | ValueMutant | StatementMutant | Mutant
MUTANTS: tuple[JobMutant, ...] = (
    *CLAIMS, *OUTCOMES, *LEASES, *RETRIES, *CALLERS, *TIMERS, *TRANSITIONS, *SCRIPTS, *KEEPING, *LINES, *ANSWERS,
)  # fmt: skip
#: Those that only histories on PostgreSQL can meet.
ON_POSTGRESQL: tuple[JobMutant, ...] = POSTGRESQL


@contextmanager
def made(mutant: JobMutant) -> Iterator[None]:
    """Inside, the mistake is made, and scripts read the run's clock.

    Raises:
        LookupError: nothing has the text that it replaces, so nothing was tried.
    """
    if not isinstance(mutant, Mutant):
        with virtual_time(), mutant.made():
            yield
        return
    if not any(mutant.right in source for source in sources()):
        raise LookupError(f"no script has the text of {mutant.name!r}")
    with virtual_time(mutant.change):
        yield
