"""Resealer: encrypts stored secrets again with the newest key, so that an old one can be dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from tasksapp.delivery.own_request import read_own_request
from tasksapp.models import BizType, Job, Series
from tasksapp.models.columns import sealed_texts
from tasksapp.models.encrypted_text import SecretUnreadable, is_newest, open_sealed, reseal

#: Jobs that one statement looks at, and those that one transaction changes.
LOOK_ROWS, CHANGE_ROWS = 10_000, 500
#: Rows with unreadable secrets that are named.
NAMED = 20


@dataclass(slots=True)
class Resealed:
    """What was done, or is to be done.

    Args:
        biz_types: secrets of biz types that were encrypted again.
        series: series whose secret headers were.
        jobs: jobs whose secret headers were.
        unreadable: how many rows hold a secret that no key opens; they are left as they are.
        named: some of them.
    """

    biz_types: int = 0
    series: int = 0
    jobs: int = 0
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
    """

    def __init__(self, *, using: str, dry_run: bool = False) -> None:
        self._using = using
        self._dry_run = dry_run
        self.done = Resealed()

    def run_biz_types(self) -> None:
        """All biz types and series: there are few."""
        for biz_type in BizType.objects.using(self._using).order_by("id"):
            for name in sealed_texts(BizType).values():
                self._keep(BizType, biz_type, name, _resealed, what=f"biz type {biz_type.label}")
        for series in Series.objects.using(self._using).exclude(request="").order_by("id"):
            self._keep(Series, series, "request", _resealed_request, what=f"series {series.pk}")

    def run_jobs(self) -> Iterator[int]:
        """All jobs in the order of their ids; gives how many were looked at in each step."""
        after: UUID | None = None
        while True:
            rows = Job.objects.using(self._using).order_by("id")
            rows = rows if after is None else rows.filter(id__gt=after)
            ids = list(rows.values_list("id", flat=True)[:LOOK_ROWS])
            if not ids:
                return
            own = Job.objects.using(self._using).filter(id__gte=ids[0], id__lte=ids[-1]).exclude(request="")
            found = list(own.order_by("id").only("id", "request"))
            for start in range(0, len(found), CHANGE_ROWS):
                with transaction.atomic(using=self._using):
                    for job in found[start : start + CHANGE_ROWS]:
                        self._keep(Job, job, "request", _resealed_request, what=f"job {job.id}")
            after = ids[-1]
            yield len(ids)

    def _keep(self, model: Any, row: Any, name: str, resealed: Callable[[str], str], *, what: str) -> None:
        """Stores the text of a column encrypted again, unless it is so already or was changed meanwhile."""
        stored = getattr(row, name)
        try:
            text = resealed(stored)
        except SecretUnreadable:
            self.done.add_unreadable(what)
            return
        if text == stored:
            return
        if not self._dry_run and not model.objects.using(self._using).filter(pk=row.pk, **{name: stored}).update(
            **{name: text}
        ):
            return
        match row:
            case BizType():
                self.done.biz_types += 1
            case Series():
                self.done.series += 1
            case _:
                self.done.jobs += 1


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
