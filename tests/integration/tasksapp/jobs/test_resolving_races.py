"""Resolves beside claims, retries and creates that commit late: what fires was named, or no resolve was accepted.

``DELAYHUB_RACES=10000`` (`make race`) races each order so often; the suite a few times.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from tasksapp import jobs
from tasksapp.access.keys import issue_key
from tasksapp.errors import KeyResolved
from tasksapp.jobs.resolving import Resolution
from tasksapp.models import LIVE, BizType, Job, Status, Transition
from tasksapp.models.api_key import Scope
from tasksapp.sql.write_outcomes import write_outcomes
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.claiming import claim
from tests.integration.tasksapp.operation_runs import started, turns
from tests.integration.tasksapp.stored_jobs import due
from tests.job_rows import job_row, store_job
from tests.outcomes import finished
from tests.property_sizes import examples

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql_only]

#: How often each of the two orders is raced.
RACES = int(os.environ.get("DELAYHUB_RACES", examples(40)))


def pause() -> None:
    """Up to 2 ms, in the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s)", [random.random() * 0.002])


def stored(biz_type: BizType, biz_ids: list[str]) -> list[UUID]:
    """The ids of due jobs with those biz ids."""
    rows = [job_row(biz_type, biz_id=biz_id, due_in=-timedelta(seconds=1)) for biz_id in biz_ids]
    return [job.id for job in Job.objects.bulk_create(rows, batch_size=1_000)]


def race(first: Callable[[int], None], second: Callable[[int], None]) -> None:
    """Lets two threads do all rounds, which they begin up to 2 ms apart."""
    line = threading.Barrier(2)

    def all_rounds(act: Callable[[int], None]) -> None:
        try:
            for number in range(RACES):
                line.wait(30)
                pause()
                act(number)
                line.wait(30)
        except BaseException:
            line.abort()
            raise

    at_once(lambda: all_rounds(first), lambda: all_rounds(second))


def test_what_is_claimed_beside_a_resolve_is_named_by_it_and_not_tried_again(
    biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    make_biz_type("other")
    ids = stored(biz_type, [str(number) for number in range(RACES)])
    bystanders = stored(biz_type, [f"x{number}" for number in range(RACES)])
    outcomes: dict[int, Resolution] = {}
    fired_after: list[int] = []
    unnamed: list[int] = []

    def work(number: int) -> None:
        for _ in range(3):  # a retry is due at once
            accepted = number in outcomes
            answer = claim(ids[number], bystanders[number])
            if ids[number] not in {job.id for job in answer.claimed}:
                continue
            if accepted:
                fired_after.append(number)
            pause()
            if number in outcomes and ids[number] not in outcomes[number].running:
                unnamed.append(number)
            now = timezone.now()
            retry = finished(ids[number], answer.token, Transition.RETRY, tried=None, next_run_at=now)
            write_outcomes([retry], now=now, worker="w", using="default")

    def resolve(number: int) -> None:
        outcomes[number] = jobs.resolve(["order.close", "other"], str(number))

    race(work, resolve)

    assert (fired_after, unnamed) == ([], [])
    assert all(outcome.accepted for outcome in outcomes.values())
    assert claim(*ids).claimed == []
    assert not Job.objects.filter(id__in=ids, status__in=LIVE).exists()
    assert not Job.objects.filter(id__in=bystanders, status=Status.CANCELLED).exists()


def test_a_create_that_commits_around_a_resolve_never_fires_after_it(biz_type: BizType) -> None:
    made: dict[int, UUID] = {}
    resolved: set[int] = set()
    fired_after: list[int] = []

    def create_and_claim(number: int) -> None:
        try:
            with transaction.atomic():
                made[number] = due(biz_id=str(number))
                pause()
        except KeyResolved:
            return
        accepted = number in resolved
        if claim(made[number]).claimed and accepted:
            fired_after.append(number)

    def resolve(number: int) -> None:
        jobs.resolve("order.close", str(number))
        resolved.add(number)

    race(create_and_claim, resolve)

    assert fired_after == []
    assert claim(*made.values()).claimed == []
    assert not Job.objects.filter(status=Status.PENDING).exists()


@contextmanager
def others_hold(job_id: UUID) -> Iterator[None]:
    """Another connection holds the row's lock, and ours waits 0.2 s for it."""
    other = connection.copy()
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '200ms'")
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT 1 FROM delayhub_job WHERE id = %s FOR UPDATE", [job_id])
        yield
    finally:
        other.close()
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout TO DEFAULT")


def test_a_resolve_that_waits_too_long_for_a_row_is_in_force_and_says_to_ask_again(biz_type: BizType) -> None:
    held = due(biz_id="42")

    with others_hold(held):
        first = jobs.resolve("order.close", "42")
        claimed = claim(held).claimed
    second = jobs.resolve("order.close", "42")

    assert (first.accepted, first.cancelled, first.running) == (False, [], None)
    assert claimed == []
    assert (second.accepted, second.cancelled, second.running) == (True, [held], [])


def test_over_rest_it_is_a_202_that_says_so(biz_type: BizType) -> None:
    held = due(biz_id="42")
    client = Client(headers={"Authorization": f"Bearer {issue_key('tests', scopes=Scope.values).key}"})
    asked = {"biz_types": ["order.close"], "biz_id": "42"}

    with others_hold(held):
        answer = client.post("/api/v1/resolve", asked, content_type="application/json")

    found = answer.json()
    assert (answer.status_code, answer["Retry-After"]) == (202, "5")
    assert (found["accepted"], found["cancelled"], found["running"]) == (False, [], None)
    assert "ask again" in found["detail"]


@pytest.mark.parametrize("verb", ["redrive", "bulk", "operation", "edit"])
def test_a_job_that_is_made_live_beside_a_resolve_is_cancelled_with_its_commit(verb: str, biz_type: BizType) -> None:
    status, biz_id = (Status.PENDING, "41") if verb == "edit" else (Status.DEAD, "42")
    job = store_job(biz_type, status, biz_id=biz_id)
    operations = turns()
    if verb == "operation":
        started(biz_type="order.close")
    acts: dict[str, Callable[[], object]] = {
        "operation": operations.run_once,
        "redrive": lambda: jobs.redrive(job.id),
        "bulk": lambda: jobs.apply_many(jobs.Verb.REDRIVE, [job.id]),
        "edit": lambda: jobs.edit(job.id, biz_id="42"),
    }

    with transaction.atomic():
        acts[verb]()
        at_once(lambda: jobs.resolve("order.close", "42"))

    job.refresh_from_db()
    assert (job.status, job.last_error, job.error_class) == (Status.CANCELLED, "resolved", "resolved")
