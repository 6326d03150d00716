"""Answers: what a resolve says to a job that waits for one, how it is given, and which job takes it.

A tombstone has it. Jobs are locked before tombstones, and those in the order of their biz types, by all that need both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections
from django.db.models import F, Q

from tasksapp.errors import AlreadyAnswered
from tasksapp.models import AnswerLink, Job, Tombstone, Transition, error_class
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.job import FOLLOW_UP
from tasksapp.models.sealable import stored
from tasksapp.models.sealed_value import MARK, is_sealed
from tasksapp.sql.tombstones import mark_first_tombstones


class Answer(NamedTuple):
    """What was answered.

    Args:
        outcome: in a word, such as ``approved``.
        body: what else, as JSON; '' where no key opens it.
        at: when.
        by: who; '' for the project's own code.
    """

    outcome: str
    body: str
    at: datetime
    by: str

    @classmethod
    def of(cls, row: Tombstone) -> Answer:
        """The answer that a tombstone has."""
        try:
            body = row.answer or "null"
        except SecretUnreadable:
            body = ""
        return cls(row.outcome, body, row.at, row.by)

    def as_json(self) -> dict[str, Any]:
        """As a follow-up's body has it."""
        said = {"body": json.loads(self.body)} if self.body else {"body": None, "body_left_out": True}
        return {"outcome": self.outcome, **said, "at": self.at.isoformat(), "by": self.by}

    def says_the_same(self, other: Answer) -> bool:
        """Whether another answer is no other one: a caller who heard nothing says it again."""
        is_known = self.body != "" and other.body != ""
        return is_known and self.outcome == other.outcome and _in_order(self.body) == _in_order(other.body)


def _in_order(body: str) -> str:
    """The JSON with its names in order; as values Python would not tell 1 from true."""
    return json.dumps(json.loads(body), sort_keys=True)


class Taker(NamedTuple):
    """A job that has ended, as far as an answer is concerned.

    ``is_resolved``: whether it was called off, and did not end by itself. ``is_sealed``: whether it is encrypted.
    """

    job_id: UUID
    biz_type_id: int
    biz_id: str
    is_resolved: bool
    is_sealed: bool = False


def lay_answers(
    untils: Mapping[int, datetime],
    answer: Answer,
    *,
    hearing: set[int],
    encrypted: set[int],
    biz_id: str,
    is_said: bool,
    using: str,
) -> tuple[bool, dict[int, datetime]]:
    """Lays tombstones as ``lay_tombstones`` does, in the caller's transaction; those of some biz types hold an answer.

    What is answered again in the same words only holds for longer: neither the answer nor what follows from it is held
    by that. An answer is encrypted where its biz type is, or a job that it may be for. Gives back whether one of the
    tombstones was the first of its biz type, and by biz type from when on each holds follow-ups.

    Args:
        untils: by biz type, until when its tombstone holds at least.
        answer: the answer, when it is given and by whom.
        hearing: the biz types that hear it.
        encrypted: those that are encrypted at rest.
        biz_id: the biz id.
        is_said: whether its caller said it; False: it is what a resolve says that has no words for it.
        using: the database.

    Raises AlreadyAnswered where another answer was there.
    """
    is_first = mark_first_tombstones(sorted(untils), using=using)
    encrypted = encrypted | _asked_by_encrypted(hearing - encrypted, biz_id=biz_id, using=using)
    said = {"outcome": answer.outcome, "answer": answer.body, "by": answer.by, "answered_job": None}
    rows = [
        Tombstone(
            biz_type_id=number, biz_id=biz_id, at=answer.at, until=untils[number],
            **(said if number in hearing else {"by": answer.by}),
        )
        for number in sorted(untils)
    ]  # fmt: skip
    for row in rows:
        if row.biz_type_id in encrypted:
            row.seal()
    sealed = {row.biz_type_id: stored(row, "answer") for row in rows}
    table = Tombstone.objects.using(using)
    there: list[Tombstone] = []
    while len(there) < len(rows):  # one that was there may have been pruned before it is locked
        table.bulk_create(rows, ignore_conflicts=True)
        same = table.filter(biz_type_id__in=untils, biz_id=biz_id).order_by("biz_type_id")
        there = list(same.select_for_update(no_key=True))
    # The moment alone does not tell them apart: tests stop their clocks.
    earlier = [row for row in there if row.at != answer.at or (row.biz_type_id in hearing and Answer.of(row) != answer)]
    answered = {
        row.biz_type_id: row for row in earlier if row.biz_type_id in hearing and row.outcome and row.until > answer.at
    }
    if all(row.answered_job is None for row in answered.values()):
        # Else it is the answer of before once more, which meant another job.
        answered = {number: row for number, row in answered.items() if not _is_asked_since(row, using=using)}
    others = [row for row in answered.values() if not Answer.of(row).says_the_same(answer)]
    if others and is_said:
        raise AlreadyAnswered(biz_id, others[0].outcome, at=others[0].at, job_id=others[0].answered_job)
    is_repeated = bool(answered) and not others
    since = {row.biz_type_id: row.at for row in there}
    for row in earlier:
        values: dict[str, Any] = {"until": max(row.until, untils[row.biz_type_id])}
        if row.biz_type_id in hearing - answered.keys():
            values |= {"at": answer.at, **said, "answer": sealed[row.biz_type_id]}
        elif not is_repeated:
            values["at"] = answer.at
            if row.biz_type_id not in hearing:
                values["by"] = answer.by
        table.filter(pk=row.pk).update(**values)
        since[row.biz_type_id] = values.get("at", row.at)
    return is_first, since


def _asked_by_encrypted(biz_type_ids: set[int], *, biz_id: str, using: str) -> set[int]:
    """Those of the biz types, none of which is encrypted, that have an encrypted job of the biz id all the same.

    It was made before the mark was taken away, or follows from an encrypted one.
    """
    if not biz_type_ids:
        return set()
    rows = Job.objects.using(using).filter(biz_type_id__in=biz_type_ids, biz_id=biz_id, request__startswith=MARK)
    return set(rows.values_list("biz_type_id", flat=True))


def _is_asked_since(row: Tombstone, *, by: UUID | None = None, using: str) -> bool:
    """Whether a question follows from what was answered, as one in a plan does: it has an answer of its own.

    ``by``: whether that job is one; None: whether there is any.
    """
    jobs = Job.objects.using(using).filter(biz_type=row.biz_type_id, biz_id=row.biz_id)
    jobs = jobs if by is None else jobs.filter(id=by)
    return jobs.filter(created_by=FOLLOW_UP, created_at__gte=row.at).exists()


def take_answers(takers: Iterable[Taker], *, now: datetime, using: str) -> dict[UUID, Answer]:
    """By job, the answer that it takes, in the caller's transaction, which has ended the job. No other job takes it.

    Of several with one business key, one that was called off takes it before one that ended by itself.
    """
    by_key: dict[tuple[int, str], Taker] = {}
    for taker in takers:
        key = taker.biz_type_id, taker.biz_id
        if taker.biz_id and (key not in by_key or taker.is_resolved > by_key[key].is_resolved):
            by_key[key] = taker
    if not by_key:
        return {}
    keys: dict[int, list[str]] = {}
    for number, biz_id in by_key:
        keys.setdefault(number, []).append(biz_id)
    named = Q()
    for number, biz_ids in keys.items():
        named |= Q(biz_type_id=number, biz_id__in=biz_ids)
    table = Tombstone.objects.using(using)
    free = table.filter(named, outcome__gt="", answered_job=None).order_by("biz_type_id", "biz_id")
    taken: dict[UUID, Answer] = {}
    for row in free.select_for_update(no_key=True):
        taker = by_key[row.biz_type_id, row.biz_id]
        # A tombstone that is over, and was not pruned yet, still holds jobs from before; but it means no younger one,
        # and none that follows from what was answered.
        if taker.is_resolved or (row.until > now and not _is_asked_since(row, by=taker.job_id, using=using)):
            values: dict[str, Any] = {"answered_job": taker.job_id}
            if taker.is_sealed and not is_sealed(stored(row, "answer")):
                row.seal()  # it was given before the job was there
                values["answer"] = stored(row, "answer")
            table.filter(pk=row.pk).update(**values)
            taken[taker.job_id] = Answer.of(row)
    return taken


def refuse_lifting_answers(biz_type_ids: Iterable[int], *, biz_id: str, using: str) -> None:
    """Refuses to lift what a job has taken an answer of, since something has followed from that.

    Raises AlreadyAnswered.
    """
    rows = Tombstone.objects.using(using).filter(biz_type_id__in=biz_type_ids, biz_id=biz_id)
    if not connections[using].features.has_select_for_update:
        # SQLite: a transaction that begins by reading is refused, without waiting, when it comes to write.
        rows.update(until=F("until"))
    ended = Job.objects.using(using).filter(status=Transition.RESOLVE.target, error_class=error_class.RESOLVED)
    for row in rows.order_by("biz_type_id").select_for_update(no_key=True):
        if row.answered_job is not None and ended.filter(id=row.answered_job).exists():
            raise AlreadyAnswered(biz_id, row.outcome, at=row.at, job_id=row.answered_job)


def end_links(job_ids: Iterable[UUID], *, using: str) -> None:
    """Withdraws the links of jobs that ask something else now; whoever answers by one that was used is told so."""
    AnswerLink.objects.using(using).filter(job_id__in=job_ids, used_at=None).delete()


def jobs_to_answer(*, before: datetime, limit: int, using: str) -> list[UUID]:
    """Pending jobs that tombstones hold that were to hold until before then, and whose answers no job has taken."""
    rows = Tombstone.objects.using(using).filter(until__lt=before, outcome__gt="", answered_job=None)
    found: list[UUID] = []
    for row in rows.defer("answer").order_by("until", "id")[:limit]:
        jobs = Job.objects.using(using).filter(biz_type=row.biz_type_id, biz_id=row.biz_id)
        waiting = jobs.filter(status=Transition.RESOLVE.source, created_at__lt=row.until).order_by("id")
        found += [job.id for job in waiting.only("created_at", "created_by")[:limit] if row.holds(job)]
    return found
