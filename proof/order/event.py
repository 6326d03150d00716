"""Event: something that was asked or sent, and what was answered, from when until when."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A verb over REST, or a callback and its outcome.

    Args:
        verb: a name of ``proof.order.job.VERBS``.
        by_key: whether the job is named by its business key, not by its id.
        if_match: the ETag that the caller names, if any.
        version: the version that the caller names, if any.
        body: the number in the body that is sent; None for none.
        delay: the delay that is sent, in seconds; None for none.
        lift: whether a redrive lifts a resolve.
        reply: of an outcome, the receiver's status.
    """

    verb: str
    by_key: bool = False
    if_match: str = ""
    version: int | None = None
    body: int | None = None
    delay: int | None = None
    lift: bool = False
    reply: int = 0

    def __str__(self) -> str:
        more = {name: getattr(self, name) for name in ("if_match", "version", "body", "delay")}
        more["reply"] = self.reply or None
        said = [self.verb, *(["by its key"] if self.by_key else []), *(["lift"] if self.lift else [])]
        return " ".join([*said, *(f"{name}={value}" for name, value in more.items() if value not in (None, "", 0))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back; of a job, what it shows.

    Args:
        status: of HTTP; 0 for what nobody answers.
        code: of the problem.
        etag: the state that is named.
        job: the status of the job that is shown, or of which a problem speaks.
        version: the version that is shown.
        body: the number in the body that is shown, or was sent to the receiver.
        attempt: of a callback, its number.
        cancelled: of a resolve, whether it cancelled the job.
        running: of a resolve, whether it names the job as running.
    """

    status: int = 0
    code: str = ""
    etag: str = ""
    job: str = ""
    version: int | None = None
    body: int | None = None
    attempt: int | None = None
    cancelled: bool = False
    running: bool = False

    def __str__(self) -> str:
        said = {"": self.status or "", "code": self.code, "job": self.job, "etag": self.etag, "body": self.body}
        said |= {"attempt": self.attempt, "cancelled": self.cancelled, "running": self.running}
        return " ".join(f"{name}{'=' if name else ''}{value}" for name, value in said.items() if value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One of a history.

    Args:
        who: the client, or the worker.
        asked: what.
        answer: what came back.
        began: no effect of it is earlier, in seconds of one clock.
        ended: none is later; infinity where nobody knows.
    """

    who: str
    asked: Asked
    answer: Answer = field(default_factory=Answer)
    began: float = 0.0
    ended: float = float("inf")

    def told(self, *, since: float) -> str:
        """A line of a story."""
        began, ended = (f"{max(0.0, when - since) * 1000:8.1f}" for when in (self.began, self.ended))
        return f"{began} ..{ended} ms  {self.who}: {self.asked} → {self.answer}"
