"""The log of jobs: a line for what happens to each, in the logger ``delayhub.jobs``.

Each line names the job by its id, its biz type and its biz id, and the trace of the request that created it, in the
sentence and beside it (``job_id``, ``biz_type``, ``biz_id``, ``attempt``, ``job_event``, ``trace_id``). Deaths are
errors, failed attempts warnings, verbs information, and what goes as planned is for debugging. Of failed attempts and
verbs only some get a line of their own when there are many; the rest is added up. A death always has its line. Bodies
and secrets are in none.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from delayhub.clock import Clock, SystemClock
from delayhub.escaped_text import escaped
from tasksapp.access.actors import Actor
from tasksapp.models import BizType

logger = logging.getLogger("delayhub.jobs")

#: The longest middle of a sentence: a row keeps 500 characters of a reason.
LONGEST_SAID = 700
#: Kinds of errors that a line which adds up names.
NAMED = 5
#: Lines that add up at the end of one window: where more biz types had too many, the smallest share one.
MOST_SUMS = 20
#: For how long lines are counted together.
WINDOW_SECONDS = 10.0
#: Lines within that time of one kind, and of all.
MOST_OF_KIND, MOST = 10, 200


class Event(StrEnum):
    """What happens to a job beside verbs, which are named as in the audit."""

    CREATED = "created"
    REPLACED = "replaced"
    CLAIMED = "claimed"
    SENT = "sent"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RETURNED = "returned"
    LOST = "lost"
    DIED = "died"


class LoggedJob(Protocol):
    """What a line says of a job; rows of several kinds have it."""

    @property
    def id(self) -> UUID: ...
    @property
    def biz_id(self) -> str: ...
    @property
    def traceparent(self) -> str: ...


def debugs() -> bool:
    """Whether every job has every line; asked before lines are made that only then are written."""
    return logger.isEnabledFor(logging.DEBUG)


def note(
    event: str,
    job: LoggedJob,
    biz_type: BizType,
    said: str,
    *,
    level: int = logging.DEBUG,
    attempt: int = 0,
    kind: str = "",
    **facts: object,
) -> None:
    """Writes a line about a job, unless there were many of its kind just now.

    Args:
        event: what happened, in a word.
        job: to which job.
        biz_type: its biz type.
        said: what happened, as the middle of a sentence; what strangers wrote in it is escaped here.
        level: of the line. Errors are never left out.
        attempt: the number of the attempt; 0 for none.
        kind: the kind of error.
        facts: more, beside the sentence.
    """
    if not logger.isEnabledFor(level):
        return
    label = biz_type.label
    if logging.DEBUG < level < logging.ERROR and not debugs() and not _budget.takes(f"{event} {label}", label, kind):
        return
    biz_id, parent = escaped(job.biz_id), job.traceparent
    trace_id = parent.split("-")[1] if parent.count("-") == 3 else ""
    extra: dict[str, Any] = {
        "job_event": str(event), "job_id": str(job.id), "biz_type": label, "biz_id": biz_id, "attempt": attempt,
        "trace_id": trace_id, **facts,
    }  # fmt: skip
    if kind:
        extra["error_class"] = kind
    logger.log(
        level,
        "job %s of %s, biz id %s, %s%s%s",
        job.id,
        label,
        biz_id or "-",
        f"attempt {attempt} " if attempt else "",
        escaped(said[:LONGEST_SAID]),
        f", trace {trace_id}" if trace_id else "",
        extra=extra,
    )


def note_death(job: LoggedJob, biz_type: BizType, why: str, *, attempt: int, kind: str) -> None:
    """Writes the line about a job that is dead now, as :func:`note` does; it is never left out."""
    note(Event.DIED, job, biz_type, f"died: {why}", level=logging.ERROR, attempt=attempt, kind=kind)


def note_verb(verb: str, jobs: Iterable[LoggedJob], biz_type: BizType, *, by: Actor | None) -> None:
    """Writes a line about each of the jobs, as far as there are not many: what was done to it, and by whom."""
    said = f"{verb} by {by.name}" if by is not None and by.name else verb
    for job in jobs:
        note(verb, job, biz_type, said, level=logging.INFO)


def _add_up(beyond: Mapping[tuple[str, ...], int]) -> None:
    """A line for each event and biz type that had too many lines, the most first; one for all beyond ``MOST_SUMS``."""
    totals: Counter[tuple[str, str]] = Counter()
    kinds: dict[tuple[str, str], Counter[str]] = {}
    for (what, label, kind), count in beyond.items():
        event = what.removesuffix(f" {label}")
        totals[event, label] += count
        kinds.setdefault((event, label), Counter())[kind] += count
    ranked = totals.most_common()
    for (event, label), count in ranked[:MOST_SUMS]:
        named = ", ".join(f"{kind} {some}" for kind, some in kinds[event, label].most_common(NAMED) if kind)
        logger.log(
            logging.WARNING if event in {Event.FAILED, Event.RETURNED, Event.LOST} else logging.INFO,
            "%d more jobs of %s within %g s: %s%s; lines of their own are left out",
            count,
            label,
            WINDOW_SECONDS,
            event,
            f" ({named})" if named else "",
            extra={"job_event": event, "biz_type": label, "count": count, "error_classes": dict(kinds[event, label])},
        )
    if rest := ranked[MOST_SUMS:]:
        logger.warning(
            "%d more events of jobs of %d other biz types within %g s; lines of their own are left out",
            sum(count for _, count in rest),
            len({label for (_, label), _ in rest}),
            WINDOW_SECONDS,
            extra={"job_event": "many", "count": sum(count for _, count in rest)},
        )


class LineBudget:
    """Bounds the lines of one process. Threads share it; a forked child begins with none spent.

    Args:
        add_up: gets what had no line of its own, by kind, when the window is over; in a thread of its own.
        window_seconds: how long the window is.
        clock: tells when it is over.
    """

    def __init__(
        self,
        add_up: Callable[[Mapping[tuple[str, ...], int]], None],
        *,
        window_seconds: float = WINDOW_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        self._add_up = add_up
        self._window_seconds = window_seconds
        self._clock = clock or SystemClock()
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._ends = 0.0
        self._spent: Counter[str] = Counter()
        self._beyond: Counter[tuple[str, ...]] = Counter()

    def takes(self, kind: str, *detail: str) -> bool:
        """Whether a line of that kind may be written; where not, it is counted with its details."""
        with self._lock:
            now = self._clock.monotonic()
            if now >= self._ends and not self._beyond:
                self._ends = now + self._window_seconds
                self._spent.clear()
            if self._spent[kind] < MOST_OF_KIND and self._spent.total() < MOST:
                self._spent[kind] += 1
                return True
            if not self._beyond:
                timer = threading.Timer(max(0.0, self._ends - now), self.close_window)
                timer.daemon = True
                timer.start()
            self._beyond[kind, *detail] += 1
            return False

    def close_window(self) -> None:
        """Ends the window; what had no line is added up."""
        with self._lock:
            beyond, self._beyond = self._beyond, Counter()
            self._ends = 0.0
        if beyond:
            self._add_up(beyond)


_budget = LineBudget(_add_up)


def add_up_now() -> None:
    """Writes at once what had no line of its own; for a process that ends."""
    _budget.close_window()


# A child of a prefork pool ends without this, and has a signal of Celery's for it.
atexit.register(add_up_now)
