"""Resealer: encrypts stored secrets again with the newest key, so that an old one can be dropped.

What encrypted biz types have that is not encrypted yet is encrypted too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from tasksapp.delivery.own_request import read_own_request
from tasksapp.jobs.at_rest import EXCHANGED, is_claim, said_at_rest
from tasksapp.models import AnswerLink, Attempt, BizType, Job, Series, Status, Tombstone
from tasksapp.models.columns import sealed_texts
from tasksapp.models.encrypted_text import SecretUnreadable, is_newest, open_sealed, reseal
from tasksapp.models.new_job import sealed_content
from tasksapp.models.sealable import CARRIED, stored
from tasksapp.models.sealed_value import is_of_newest_key, is_sealed, open_bytes, open_text, seal_bytes, seal_text

#: Jobs that one statement looks at, and those that one transaction changes: their bodies may be large.
LOOK_ROWS, CHANGE_ROWS = 10_000, 50
#: Rows with unreadable secrets that are named.
NAMED = 20


@dataclass(slots=True)
class Resealed:
    """What was done, or is to be done.

    Args:
        biz_types: secrets of biz types that were encrypted again.
        series: series of which something was.
        answers: answers that are kept for jobs, and questions of answer links.
        jobs: jobs of which something was.
        running: jobs of encrypted biz types that are not encrypted, and run: another time.
        unreadable: how many rows hold a secret that no key opens; they are left as they are.
        named: some of them.
    """

    biz_types: int = 0
    series: int = 0
    answers: int = 0
    jobs: int = 0
    running: int = 0
    unreadable: int = 0
    named: list[str] = field(default_factory=list)

    def add_unreadable(self, name: str) -> None:
        """Notes a row with a secret that no key opens."""
        self.unreadable += 1
        if len(self.named) < NAMED:
            self.named.append(name)


class Resealer:
    """Encrypts again what is not encrypted with the newest key; what is stays as it is.

    So a run that was broken off is begun again, and a second run changes nothing. A row that somebody changes at the
    same moment is left to that change, which encrypts with the newest key itself.

    Args:
        using: the database.
        dry_run: whether it only counts.
        rate: how many jobs it changes in a second at most; None for as many as it can.
    """

    def __init__(self, *, using: str, dry_run: bool = False, rate: float | None = None) -> None:
        self._using = using
        self._dry_run = dry_run
        self._rate = rate
        #: The job that was looked at last.
        self.last: UUID | None = None
        self.done = Resealed()

    def run_biz_types(self) -> None:
        """All biz types, series, answers that are kept, and answer links: there are few."""
        for biz_type in BizType.objects.using(self._using).order_by("id"):
            for name in sealed_texts(BizType).values():
                before = getattr(biz_type, name)
                text = self._tried(partial(_resealed, before), f"biz type {biz_type.label}")
                if text is not None and text != before:
                    self.done.biz_types += self._kept(BizType, biz_type, {name: before}, {name: text})
        mine = Series.objects.using(self._using).filter(~Q(request="") | Q(biz_type__encrypted=True))
        for series in mine.select_related("biz_type").order_by("id"):
            columns = self._tried(partial(_content, series), f"series {series.pk}")
            if columns:
                self.done.series += self._kept(Series, series, _as_read(series), columns)
        self._run_answers(Tombstone, "answer")
        self._run_answers(AnswerLink, "question")

    def _run_answers(self, model: Any, column: str) -> None:
        """All answers that are kept, or the questions of links."""
        for row in model.objects.using(self._using).filter(~Q(**{column: ""})).select_related("biz_type"):
            before = {column: stored(row, column)}
            if row.biz_type.encrypted and not is_sealed(before[column]):
                row.seal()
                self.done.answers += self._kept(model, row, before, {column: stored(row, column)})
            elif again := self._tried(partial(_again, row, [column]), f"the {column} of {row}"):
                self.done.answers += self._kept(model, row, before, again)

    def run_jobs(self, *, after: UUID | None = None) -> Iterator[int]:
        """All jobs in the order of their ids; gives how many were looked at in each step.

        Args:
            after: the job behind which it begins.
        """
        self.last = after
        while True:
            rows = Job.objects.using(self._using).order_by("id")
            rows = rows if self.last is None else rows.filter(id__gt=self.last)
            ids = list(rows.values_list("id", flat=True)[:LOOK_ROWS])
            if not ids:
                return
            own = Job.objects.using(self._using).filter(id__gte=ids[0], id__lte=ids[-1])
            own = own.filter(~Q(request="") | Q(biz_type__encrypted=True))
            found = list(own.order_by("id").values_list("id", flat=True))
            for start in range(0, len(found), CHANGE_ROWS):
                self._change(found[start : start + CHANGE_ROWS])
                self.last = found[start : start + CHANGE_ROWS][-1]
            self.last = ids[-1]
            yield len(ids)

    def _change(self, ids: list[UUID]) -> None:
        """One transaction, and the rest of the time that it may take."""
        before = self.done.jobs
        jobs = list(Job.objects.using(self._using).select_related("biz_type").filter(id__in=ids).order_by("id"))
        attempts: dict[UUID, list[Attempt]] = {job.id: [] for job in jobs if job.is_sealed}
        for attempt in Attempt.objects.using(self._using).filter(job_id__in=attempts):
            attempts[attempt.job_id].append(attempt)
        with transaction.atomic(using=self._using):  # nothing is read in it first: SQLite would refuse to write then
            for job in jobs:
                self._tried(partial(self._reseal_job, job, attempts.get(job.id, ())), f"job {job.id}")
        if self._rate and not self._dry_run:
            time.sleep((self.done.jobs - before) / self._rate)

    def _reseal_job(self, job: Job, attempts: Sequence[Attempt]) -> None:
        """Raises SecretUnreadable, and has then changed nothing."""
        if job.biz_type.encrypted and not job.is_sealed and job.status == Status.RUNNING:
            self.done.running += 1  # its worker read it unencrypted, and will write its outcome so
            return
        columns = _content(job) | (_again(job, ["last_error"]) if job.is_sealed else {})
        tried = [(attempt, again) for attempt in attempts if (again := _again(attempt, EXCHANGED))]
        # Such as those of a job from before that a request has replaced since.
        has_plain = job.is_sealed and any(map(_has_plain, attempts))
        if not columns and not tried and not has_plain:
            return
        if columns and not self._kept(Job, job, _as_read(job), columns):
            return
        self.done.jobs += 1
        if self._dry_run:
            return
        for attempt, again in tried:
            self._kept(Attempt, attempt, {}, again)
        if not job.is_sealed and "body" in columns:
            self._kept(Job, job, {}, said_at_rest(job, using=self._using))
        if has_plain:
            said = said_at_rest(job, using=self._using)
            if not is_sealed(stored(job, "last_error")):
                self._kept(Job, job, {"version": job.version}, said)

    def _tried(self, work: Callable[[], Any], what: str) -> Any:
        """What it gives back; None where something of it cannot be read, which is noted."""
        try:
            return work()
        except SecretUnreadable:
            self.done.add_unreadable(what)
            return None

    def _kept(self, model: Any, row: Any, unless: dict[str, Any], columns: dict[str, Any]) -> bool:
        """Whether the columns were stored, or would be: not where the row has other values in ``unless`` by now."""
        rows = model.objects.using(self._using).filter(pk=row.pk, **unless)
        return self._dry_run or bool(rows.update(**columns))


def _content(row: Job | Series) -> dict[str, Any]:
    """The columns of what it carries that are to be stored anew. Raises SecretUnreadable."""
    request = _resealed_request(row.request)
    if not row.is_sealed and row.biz_type.encrypted:
        return sealed_content(row.seal_place, body=row.body, raw=row.raw, request=request)
    if not row.is_sealed:
        return {} if request == row.request else {"request": request}
    changed = _again(row, CARRIED)
    if request != row.request:
        changed["request"] = seal_text(request, place=f"{row.seal_place}/request")
    return changed


def _as_read(row: Job | Series) -> dict[str, Any]:
    """What a row has as long as nobody changes it."""
    return {"version": row.version, "request": stored(row, "request")}


def _again(row: Any, columns: Any) -> dict[str, Any]:
    """Those of the columns that are encrypted with another key, encrypted with the newest. Raises SecretUnreadable."""
    found: dict[str, Any] = {}
    for name in columns:
        value, place = stored(row, name), f"{row.seal_place}/{name}"
        if not is_sealed(value):
            continue
        if isinstance(value, str) and not is_of_newest_key(value):
            found[name] = seal_text(open_text(value, place=place), place=place)
        elif not isinstance(value, str) and not is_of_newest_key(bytes(value)):
            found[name] = seal_bytes(open_bytes(bytes(value), place=place), place=place)
    return found


def _has_plain(attempt: Attempt) -> bool:
    """Whether something of an attempt of an encrypted job is not encrypted."""
    values = {name: stored(attempt, name) for name in EXCHANGED}
    return any(value and not is_sealed(value) and not is_claim(name, value) for name, value in values.items())


def _resealed(sealed: str) -> str:
    """The secret under the newest key. Raises SecretUnreadable."""
    if not sealed or is_newest(sealed):
        return sealed
    open_sealed(sealed)
    return reseal(sealed)


def _resealed_request(text: str) -> str:
    """What a row keeps of its own request, with its secrets under the newest key. Raises SecretUnreadable."""
    own = read_own_request(text)
    kept = {name: _resealed(sealed) for name, sealed in own.sealed.items()}
    return text if kept == own.sealed else own._replace(sealed=kept).text()
