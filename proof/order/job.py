"""What one job answers to one caller at a time: the sequential model that histories are compared with.

A verb is some steps, each of which happens at once. Most have one. A step is given the job, the event and what the
verb's steps before it have noted, and gives back what may be there after it: none where the event's answer cannot be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from proof.order.event import Answer, Event

PENDING, RUNNING, SUCCEEDED, CANCELLED, DEAD, DROPPED = (
    "pending", "running", "succeeded", "cancelled", "dead", "dropped",
)  # fmt: skip
LIVE = (PENDING, RUNNING)
#: Attempts of one budget; after a failure the next one is not due in a history, unless somebody says so.
MOST_ATTEMPTS = 2
#: What the receiver says: that it took it, that it failed, that it never will.
TAKEN, FAILED, NEVER = 204, 500, 410


class Job(NamedTuple):
    """Its state.

    Args:
        status: '' where there is no job yet.
        version: counts all changes.
        due: whether it is due now; if not, it is not before the history ends.
        body: the number in its body.
        attempts: those of this budget that were made.
        resolved: whether its business key is.
        etag: what somebody has seen of this state, and nobody of another; '' where nobody has looked.
        asked: the number in the body of the request that made it.
    """

    status: str = ""
    version: int = 0
    due: bool = False
    body: int = 0
    attempts: int = 0
    resolved: bool = False
    etag: str = ""
    asked: int = 0

    def changed(self, **values: Any) -> Job:
        """After one more change, which nobody has seen yet."""
        return self._replace(**values, version=self.version + 1, etag="")


class After(NamedTuple):
    """What is there after a step.

    Args:
        job: the job.
        note: for the verb's later steps.
        over: whether there are none.
    """

    job: Job
    note: str = ""
    over: bool = False


Step = Callable[[Job, Event, str], Iterator[After]]


@dataclass(frozen=True, slots=True)
class Change:
    """A change by a caller: from which status, to which, and what else becomes new."""

    source: str
    target: str
    values: Callable[[Job, Event], Mapping[str, Any]] = lambda job, event: {}


def _patched(job: Job, event: Event) -> Mapping[str, Any]:
    asked = event.asked
    moved = {} if asked.delay is None else {"due": asked.delay == 0}
    return moved if asked.body is None else {**moved, "body": asked.body}


CHANGES = {
    "cancel": Change(PENDING, CANCELLED),
    "run": Change(PENDING, PENDING, lambda job, event: {"due": True}),
    "patch": Change(PENDING, PENDING, _patched),
    "redrive": Change(DEAD, PENDING, lambda job, event: {"due": True, "attempts": 0}),
    "drop": Change(DEAD, DROPPED),
}


def _seen(job: Job, answer: Answer) -> Iterator[Job]:
    """The job, where it is in the state that the answer shows; an ETag names one state."""
    shown = (
        answer.job in ("", job.status)
        and answer.version in (None, job.version)
        and answer.body in (None, job.body)
        and (not answer.etag or job.etag in ("", answer.etag))
        and (not answer.etag or answer.etag.startswith(f'"{job.version}-{job.status}-'))
    )
    if shown:
        yield job._replace(etag=answer.etag or job.etag)


# ---------------------------------------------------------------- verbs of callers


def _read(job: Job, event: Event, note: str) -> Iterator[After]:
    if not job.status:
        if event.answer.status == 404:
            yield After(job)
    elif event.answer.status == 200:
        for same in _seen(job, event.answer):
            yield After(same)


def _find(job: Job, event: Event, note: str) -> Iterator[After]:
    """By its business key only a job is found that the verb is for; by its id, any."""
    if not event.asked.by_key or job.status in ((DEAD,) if CHANGES[event.asked.verb].source == DEAD else LIVE):
        yield After(job)
    elif event.answer.status == 404:
        yield After(job, over=True)


def _refusal(job: Job, event: Event, *, resolved: bool) -> tuple[int, str] | None:
    asked = event.asked
    if asked.if_match and asked.if_match != job.etag:
        return 412, "precondition_failed"
    if asked.version not in (None, job.version):
        return 409, "version_conflict"
    if job.status != CHANGES[asked.verb].source:
        return 409, "wrong_state"
    if resolved and not asked.lift:
        return 409, "resolved"
    return None


def _change(job: Job, event: Event, note: str) -> Iterator[After]:
    answer, change = event.answer, CHANGES[event.asked.verb]
    refused = _refusal(job, event, resolved=note == "resolved")
    if refused is not None:
        if (answer.status, answer.code) == refused:
            yield from (After(same, over=True) for same in _seen(job, answer))
        return
    if answer.status != 200:
        return
    values = change.values(job, event)
    new = job.changed(status=change.target, **values)
    if event.asked.verb == "patch" and event.asked.delay is None and event.asked.body == job.body:
        new = job  # nothing that differs
    if event.asked.lift and note == "resolved":  # a tombstone that is laid after it looked stays
        new = new._replace(resolved=False)
    if event.asked.verb == "redrive" and answer.job == CANCELLED:
        yield After(new, "called off")
    else:
        yield from (After(same) for same in _seen(new, answer))


def _look_again(job: Job, event: Event, note: str) -> Iterator[After]:
    """A redrive that was committed looks whether its key was resolved meanwhile, and calls the job off."""
    off = _called_off(job) if job.resolved and job.status == PENDING else job
    if note == "called off":
        yield from (After(same) for same in _seen(off, event.answer) if job.resolved)
    elif event.asked.if_match or not job.resolved:
        # Under If-Match the answer is made before the commit: it may show what was called off right after it.
        yield After(off)


def _called_off(job: Job) -> Job:
    return job.changed(status=CANCELLED)


def _may_create(job: Job, event: Event, note: str) -> Iterator[After]:
    if event.answer.code == "idempotency_key_in_use":
        yield After(job, over=True)
    elif (event.answer.code == "resolved") == job.resolved:
        yield After(job, over=job.resolved)


def _create(job: Job, event: Event, note: str) -> Iterator[After]:
    asked, answer = event.asked, event.answer
    if not job.status:
        if answer.status == 201:
            made = Job(PENDING, 1, asked.delay == 0, asked.body or 0, 0, job.resolved, "", asked.body or 0)
            yield from (After(same, over=True) for same in _seen(made, answer))
    elif asked.body != job.asked:
        if (answer.status, answer.code) == (422, "idempotency_key_taken"):
            yield After(job, over=True)
    elif answer.status == 200:
        yield After(job)


def _lay(job: Job, event: Event, note: str) -> Iterator[After]:
    if event.answer.status == 200:
        yield After(job._replace(resolved=True))


def _sweep(job: Job, event: Event, note: str) -> Iterator[After]:
    if (job.status == PENDING) == event.answer.cancelled:
        yield After(_called_off(job) if job.status == PENDING else job)


def _name_running(job: Job, event: Event, note: str) -> Iterator[After]:
    if (job.status == RUNNING) == event.answer.running:
        yield After(job)


def _lift(job: Job, event: Event, note: str) -> Iterator[After]:
    if event.answer.status == 200:
        yield After(job._replace(resolved=False))


# ---------------------------------------------------------------- the worker and the receiver


def _look(job: Job, event: Event, note: str) -> Iterator[After]:
    """What looks for a tombstone writes later: at the end of the same statement, or of the transaction."""
    yield After(job, "resolved" if job.resolved else "")


def _call(job: Job, event: Event, note: str) -> Iterator[After]:
    right = event.answer.body == job.body and event.answer.attempt == job.attempts + 1
    if job.status == PENDING and job.due and not note and right:
        yield After(job.changed(status=RUNNING))


def _end(job: Job, event: Event, note: str) -> Iterator[After]:
    if job.status != RUNNING:
        return
    match event.asked.reply:
        case 204:
            status = SUCCEEDED
        case 410:
            status = DEAD
        case _ if job.attempts + 1 < MOST_ATTEMPTS:
            status = CANCELLED if note else PENDING
        case _:
            status = DEAD
    yield After(job.changed(status=status, attempts=job.attempts + 1, due=False))


#: The steps of each verb, in order.
VERBS: Mapping[str, tuple[Step, ...]] = {
    "read": (_read,),
    "create": (_may_create, _create, _read),
    **dict.fromkeys(("cancel", "run", "patch", "drop"), (_find, _change)),
    "redrive": (_find, _look, _change, _look_again),
    "resolve": (_lay, _sweep, _name_running),
    "lift": (_lift,),
    "callback": (_look, _call),
    "outcome": (_look, _end),
}


def by_itself(job: Job) -> Job | None:
    """What a worker may make of the job that nobody sees: one that is due, and whose key is resolved, is called off."""
    return _called_off(job) if job.status == PENDING and job.due and job.resolved else None
