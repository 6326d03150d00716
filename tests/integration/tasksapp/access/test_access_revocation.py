"""A key that is revoked, expired or narrowed while others use it is refused by the very next request, on every path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from tasksapp.access.callers import last_uses
from tasksapp.access.key_verbs import delete, edit, rotate
from tasksapp.access.keys import forget_wrong_keys, issue_key
from tasksapp.models import ApiKey, BizType, Job

pytestmark = pytest.mark.django_db(transaction=True)

JOB = {"biz_type": "order.close", "delay": 3600}
#: One path of each kind: past REST framework, through it, reading, and a verb.
PATHS = [
    ("POST", "/jobs", JOB),
    ("POST", "/jobs/bulk", {"jobs": [JOB]}),
    ("GET", "/jobs", None),
    ("POST", "/operations", {"verb": "redrive", "filter": {}}),
]


def narrow(row: ApiKey) -> None:
    row.scopes = ["stats"]
    edit(row, {"scopes"})


def expire(row: ApiKey) -> None:
    row.expires_at = timezone.now() - timedelta(seconds=1)
    edit(row, {"expires_at"})


def disable(row: ApiKey) -> None:
    row.enabled = False
    edit(row, {"enabled"})


def replace(row: ApiKey) -> None:
    rotate(row, overlap=timedelta())


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    last_uses.forget()
    yield
    forget_wrong_keys()


def asked(key: str, method: str, path: str, body: Any) -> int:
    options: dict[str, Any] = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
    answer = getattr(Client(), method.lower())(
        f"/api/v1{path}", headers={"authorization": f"Bearer {key}"}, **options
    )  # fmt: skip
    return int(answer.status_code)


@pytest.mark.parametrize("end", [narrow, expire, disable, replace, delete])
def test_no_request_that_begins_after_the_end_passes(biz_type: BizType, end: Callable[[ApiKey], None]) -> None:
    row, key = issue_key("shop")
    # After too many wrong keys, the address is asked to wait instead.
    ended, refused = Event(), {403} if end is narrow else {401, 429}
    # The first uses are written before the race.
    assert [asked(key, *path) for path in PATHS] == [201, 201, 200, 201]

    def one_caller(number: int) -> list[tuple[bool, int]]:
        """Asks until it was refused on every path; says for each answer whether the key had ended by then."""
        seen: list[tuple[bool, int]] = []
        try:
            rounds = 0
            while rounds < 2:
                rounds += ended.is_set()
                for path in PATHS[number:] + PATHS[:number]:
                    was_over = ended.is_set()
                    seen.append((was_over, asked(key, *path)))
        finally:
            connections.close_all()
        return seen

    with ThreadPoolExecutor(3) as pool:
        callers = [pool.submit(one_caller, number) for number in range(3)]
        try:
            end(ApiKey.objects.get(pk=row.pk))
        finally:
            ended.set()  # also where it fails: the callers would ask for ever
        answers = [answer for caller in callers for answer in caller.result()]

    after = [status for was_over, status in answers if was_over]
    assert len(after) >= 3 * len(PATHS)
    assert set(after) <= refused
    # A plan reads its key again: 401 where that has changed since the request began.
    assert {status for _, status in answers} <= {200, 201, 401, *refused}
    made = Job.objects.count()
    assert asked(key, "POST", "/jobs", JOB) in refused
    assert Job.objects.count() == made
