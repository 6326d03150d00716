"""What has to become of a row, by words of our own; the product's code has no part in it."""

from __future__ import annotations

from typing import NamedTuple

from proof.jobs.kinds import BEHIND_MS, HELD_MS, KINDS, MOST_LOST, Kind
from proof.jobs.rows import Row

#: Statuses, and which of them are ends.
ENDS = frozenset({"succeeded", "cancelled", "skipped", "dead", "dropped"})


class Fate(NamedTuple):
    """What a row becomes: None where it does not matter or cannot be known."""

    status: str
    next_run_ms: int | None = None
    attempts: int | None = None
    lease_ms: int | None = None
    redrives: int | None = None
    system_errors: int | None = None
    attempt_base: int | None = None
    redriven_ms: int | None = None

    def complaint(self, row: Row) -> str:
        """How the row differs; '' where it does not."""
        wanted = self._asdict()
        wrong = [
            f"{name} is {getattr(row, name)}, and should be {value}"
            for name, value in wanted.items()
            if value is not None and getattr(row, name) != value
        ]
        return ", ".join(wrong)


def claimed(row: Row, kind: Kind, *, now_ms: int, is_resolved: bool) -> Fate | None:
    """What a claim makes of the row; None: it leaves it as it is."""
    if row.status != "pending" or row.next_run_ms > now_ms:
        return None
    attempts = row.attempts
    if is_resolved:
        return Fate("cancelled", attempts=attempts)
    if row.expires_ms and row.expires_ms <= now_ms and not row.redriven_ms:
        return Fate("dead" if row.attempts_used else "skipped", attempts=attempts)
    if kind.age_ms is not None and now_ms - (row.redriven_ms or row.due_ms) > kind.age_ms:
        return Fate("dead", attempts=attempts)
    is_new = row.attempts_used == 0 and not row.redriven_ms
    if kind.late_ms is not None and is_new and now_ms - row.due_ms > kind.late_ms:
        return Fate(kind.when_late, attempts=attempts)
    return Fate("running", row.next_run_ms, attempts + kind.is_once, now_ms + HELD_MS)


def waiting_claimed(row: Row, kind: Kind, *, now_ms: int, is_resolved: bool, is_behind: bool) -> Fate | None:
    """The same of a job that waits for the end of another: it is due from the moment at which it begins."""
    if row.status != "pending" or row.next_run_ms > now_ms:
        return None
    if is_behind:
        return Fate("pending", now_ms + BEHIND_MS, row.attempts)
    begun = row._replace(due_ms=max(row.due_ms, row.next_run_ms))
    return claimed(begun, kind, now_ms=now_ms, is_resolved=is_resolved)


def lost(row: Row, kind: Kind, *, now_ms: int, is_resolved: bool) -> Fate | None:
    """What the loader makes of a row whose lease has ended; None: it leaves it as it is."""
    if row.status != "running" or row.lease_ms >= now_ms:
        return None
    if kind.is_once or row.system_errors + 1 >= MOST_LOST:
        if kind.hears and is_resolved:
            return Fate("cancelled", attempts=row.attempts)
        return Fate("dead", row.next_run_ms, row.attempts, system_errors=row.system_errors + 1)
    wait = 0 if row.system_errors == 0 else 2**row.system_errors
    return Fate("pending", now_ms + wait * 1000, row.attempts, system_errors=row.system_errors + 1)


class Answer(NamedTuple):
    """What became of a callback.

    Args:
        kind: ``done``, ``failed``, ``gone`` (it would fail again), ``unsent`` or ``returned`` (no attempt was made).
        asked_ms: the wait that the receiver asked for; 0 for none.
        after_ms: how long one that was returned waits; 0 for the time that it had.
        calls_off: whether the receiver asked for an end of the others of its biz id.
    """

    kind: str
    asked_ms: int = 0
    after_ms: int = 0
    calls_off: bool = False


def written(row: Row, kind: Kind, answer: Answer, *, now_ms: int, is_resolved: bool) -> Fate:
    """What the outcome makes of a row that runs; where it waited for what was answered meanwhile, that saves it."""
    fate = _written(row, kind, answer, now_ms=now_ms, is_resolved=is_resolved)
    if fate.status == "dead" and kind.hears and is_resolved:
        return Fate("cancelled", attempts=fate.attempts)
    return fate


def _written(row: Row, kind: Kind, answer: Answer, *, now_ms: int, is_resolved: bool) -> Fate:
    attempts = row.attempts + (not kind.is_once)
    used = attempts - row.attempt_base
    if answer.kind == "done":
        return Fate("succeeded", row.next_run_ms, attempts)
    if answer.kind == "gone":
        return Fate("dead", row.next_run_ms, attempts)
    if answer.kind == "returned":
        back = Fate(
            "pending", now_ms + answer.after_ms if answer.after_ms else row.next_run_ms, row.attempts - kind.is_once
        )
        return Fate("cancelled", attempts=back.attempts) if is_resolved else back
    if kind.is_once and answer.kind != "unsent":
        return Fate("dead", row.next_run_ms, attempts)
    if used >= kind.most_attempts:
        return Fate("dead", row.next_run_ms, attempts)
    at = now_ms + max(kind.waits[used - 1] * 1000, answer.asked_ms)
    if kind.age_ms is not None:
        begins = row.redriven_ms or row.due_ms
        if answer.asked_ms:
            latest = begins + kind.age_ms - 1000
            at = now_ms + max(kind.waits[used - 1] * 1000, min(answer.asked_ms, latest - now_ms))
        if at - begins > kind.age_ms:
            return Fate("dead", row.next_run_ms, attempts)
    if row.expires_ms and not row.redriven_ms and at >= row.expires_ms:
        return Fate("dead", row.next_run_ms, attempts)
    return Fate("cancelled", attempts=attempts) if is_resolved else Fate("pending", at, attempts)


def kind_named(code: str) -> Kind:
    """The kind of that code."""
    return KINDS[code]
