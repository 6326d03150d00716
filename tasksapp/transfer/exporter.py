"""Exporter: writes all that a tenant has as lines of JSON, as it is at one moment."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections, models, transaction
from django.utils import timezone

from tasksapp.access.quotas import own_limits
from tasksapp.models import BizType, Series, Status, Tenant
from tasksapp.transfer.record import KINDS, Names, record_of
from tasksapp.transfer.transfer_key import TransferKey

#: The version of the format.
VERSION = 1
#: Jobs that have a future, or wait for a person; of others the other site needs nothing.
CARRIED = (Status.PENDING, Status.RUNNING, Status.DEAD)
#: Rows that the database hands over at once.
CHUNK_ROWS = 2_000


class Exporter:
    """Reads one tenant's rows: definitions first, then what refers to them, jobs last.

    Args:
        tenant: whose.
        key: what secrets are encrypted with; without one they are left out.
        using: the database.
    """

    def __init__(self, tenant: Tenant, *, key: TransferKey, using: str) -> None:
        self._tenant = tenant
        self._key = key
        self._using = using
        self._names = Names()
        #: Rows of each kind that were written so far.
        self.counts: Counter[str] = Counter()

    def total(self) -> int:
        """About how many rows there are."""
        self._read_names()
        return sum(rows.count() for rows in self._rows().values())

    def lines(self) -> Iterator[str]:
        """The lines, each with its end. Raises SecretUnreadable where no key of the site opens a secret.

        All are of one moment: the database's snapshot is held until the last line is taken.
        """
        digest = hashlib.sha256()
        head = {
            "kind": "export", "version": VERSION, "tenant": self._tenant.code, "name": self._tenant.name,
            "quotas": own_limits(self._tenant), "at": timezone.now().isoformat(),
        }  # fmt: skip
        for line in itertools.chain([_line(head)], self._rows_as_lines()):
            digest.update(line.encode())
            yield line
        yield _line({"kind": "end", "counts": dict(self.counts), "sha256": digest.hexdigest()})

    def digest(self) -> str:
        """What all rows are known by again: another one where any of them has changed."""
        digest = hashlib.sha256()
        for line in self._rows_as_lines():
            digest.update(line.encode())
        # Lines without a key have no secrets: a new one of a biz type is known by the time of the edit.
        edits = BizType.objects.using(self._using).filter(tenant=self._tenant).order_by("pk")
        digest.update(repr(list(edits.values_list("pk", "updated_at"))).encode())
        return digest.hexdigest()

    def _rows_as_lines(self) -> Iterator[str]:
        with snapshot(using=self._using, read_only=True):
            self._read_names()
            for kind, rows in self._rows().items():
                for row in rows.iterator(chunk_size=CHUNK_ROWS):
                    self.counts[kind] += 1
                    yield _line(record_of(kind, row, names=self._names, key=self._key))

    def _read_names(self) -> None:
        self._names = Names()
        for biz_type in BizType.objects.using(self._using).filter(tenant=self._tenant):
            self._names.add_biz_type(biz_type)
        for series in Series.objects.using(self._using).filter(biz_type__in=list(self._names.codes)):
            self._names.add_series(series)

    def _rows(self) -> dict[str, models.QuerySet[Any]]:
        """The rows of each kind."""
        own = {"biz_type": {"tenant": self._tenant}, "api_key": {"tenant": self._tenant}}
        found: dict[str, models.QuerySet[Any]] = {}
        for name, kind in KINDS.items():
            rows = kind.model._default_manager.using(self._using)
            found[name] = rows.filter(**own.get(name, {"biz_type__in": list(self._names.codes)})).order_by("pk")
        found["job"] = found["job"].filter(status__in=CARRIED)
        found["idempotency_key"] = found["idempotency_key"].filter(expires_at__gt=timezone.now())
        return found


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


@contextmanager
def snapshot(*, using: str, read_only: bool = False) -> Iterator[None]:
    """Within the block all that is read is of one moment; within another transaction it is that one's.

    What the block changes, and another transaction changed meanwhile, ends it with an OperationalError of PostgreSQL.
    SQLite has one writer at a time, and its readers have snapshots anyway.

    Args:
        using: the database.
        read_only: whether the block only reads.
    """
    connection = connections[using]
    is_outermost = not connection.in_atomic_block
    with transaction.atomic(using=using):
        if is_outermost and connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                level = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
                cursor.execute(f"{level}, READ ONLY" if read_only else level)
        yield
