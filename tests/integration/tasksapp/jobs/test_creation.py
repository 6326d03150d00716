"""Creating jobs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import InvalidJob, KeyTaken, TooManyInserts
from tasksapp.jobs.creation import Created, JobRequest, Rejected, create, create_many
from tasksapp.models import BizType, IdempotencyKey, Job, Status
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_job_is_a_row_and_a_timer(biz_type: BizType, lane: TimerLane) -> None:
    due = timezone.now() + timedelta(minutes=30)

    made = create("order.close", biz_id="order-42", due_at=due, body={"order": 42}, max_attempts=3)

    assert made.created
    assert made.armed is True
    assert not made.was_past
    job = Job.objects.get(id=made.job_id)
    assert (job.status, job.biz_id, job.body) == (Status.PENDING, "order-42", '{"order":42}')
    assert job.due_at == job.next_run_at == due
    assert (job.priority, job.max_attempts, job.version) == (5, 3, 1)
    waiting = lane.client.zrange(lane.keys.queue("order.close").waiting, 0, -1, withscores=True)
    assert waiting == [(str(job.id).encode(), due_ms(due) * 16 + 5)]


def test_what_create_gives_back_is_what_is_stored(biz_type: BizType) -> None:
    made = create("order.close", biz_id="a", delay=timedelta(hours=1), body=[1, "ä"])

    stored = Job.objects.get(id=made.job_id)
    for field in Job._meta.concrete_fields:
        assert getattr(made.job, field.attname) == getattr(stored, field.attname), field.attname


def test_a_due_time_in_the_past_fires_now_and_says_so(biz_type: BizType, lane: TimerLane) -> None:
    made = create("order.close", due_at=datetime(2020, 1, 1, tzinfo=UTC))

    assert made.was_past
    assert lane.claim().batches[0].ids == [str(made.job_id)]


def test_a_job_beyond_the_window_has_a_row_only(biz_type: BizType, lane: TimerLane) -> None:
    made = create("order.close", delay=timedelta(hours=2))

    assert made.armed is True
    assert Job.objects.filter(id=made.job_id).exists()
    assert lane.count() == 0


def test_inside_a_transaction_the_timer_is_set_at_commit(biz_type: BizType, lane: TimerLane) -> None:
    with transaction.atomic():
        made = create("order.close", delay=60)

        assert made.armed is None
        assert lane.count() == 0

    assert lane.count() == 1


def test_a_transaction_that_fails_leaves_neither_row_nor_timer(biz_type: BizType, lane: TimerLane) -> None:
    with transaction.atomic():
        create("order.close", delay=60, idempotency_key="k")
        transaction.set_rollback(True)

    assert not Job.objects.exists()
    assert not IdempotencyKey.objects.exists()
    assert lane.count() == 0


def test_creating_goes_on_without_redis(biz_type: BizType, settings: Any) -> None:
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}

    made = create("order.close", delay=60)

    assert made.armed is False
    assert Job.objects.filter(id=made.job_id).exists()


def test_the_same_request_with_the_same_key_makes_one_job(biz_type: BizType) -> None:
    first = create("order.close", delay=60, body={"a": 1, "b": 2}, idempotency_key="k")
    second = create("order.close", delay=60, body={"b": 2, "a": 1}, idempotency_key="k")

    assert first.created
    assert not second.created
    assert second.job_id == first.job_id
    assert second.job.body == '{"a":1,"b":2}'
    assert Job.objects.count() == 1


def test_another_request_with_the_same_key_is_refused(biz_type: BizType) -> None:
    first = create("order.close", delay=60, body=1, idempotency_key="k")

    with pytest.raises(KeyTaken) as refusal:
        create("order.close", delay=61, body=1, idempotency_key="k")

    assert refusal.value.job_id == first.job_id
    assert Job.objects.count() == 1


def test_the_same_own_request_is_the_same_though_its_secrets_are_encrypted_again(biz_type: BizType) -> None:
    def ask(token: str) -> Created:
        own = {"headers": {"Authorization": token}}
        return create("order.close", delay=60, request=own, debounce_key="d", idempotency_key="k")

    first = ask("Bearer a")

    assert ask("Bearer a").job_id == first.job_id
    with pytest.raises(KeyTaken):
        ask("Bearer b")


def test_a_key_of_another_biz_type_is_another_key(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.remind")

    create("order.close", idempotency_key="k")
    create("order.remind", idempotency_key="k")

    assert Job.objects.count() == 2


def test_a_key_that_expired_can_be_used_again(biz_type: BizType) -> None:
    first = create("order.close", body=1, idempotency_key="k")
    IdempotencyKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    second = create("order.close", body=2, idempotency_key="k")

    assert second.created
    assert second.job_id != first.job_id


def test_a_bulk_takes_the_good_and_names_the_bad(biz_type: BizType, lane: TimerLane) -> None:
    requests = [
        JobRequest(biz_type="order.close", delay=60, body=n, idempotency_key="k" if n in (2, 3) else None)
        for n in range(5)
    ]
    requests[0] = JobRequest(biz_type="nobody.knows")
    requests[4] = JobRequest(biz_type="order.close", delay=60, body=2, idempotency_key="k")

    outcomes = create_many(requests)

    assert isinstance(outcomes[0], Rejected)
    assert isinstance(outcomes[0].error, InvalidJob)
    assert isinstance(outcomes[1], Created)
    assert isinstance(outcomes[2], Created)
    assert isinstance(outcomes[3], Rejected)
    assert isinstance(outcomes[3].error, KeyTaken)
    assert isinstance(outcomes[4], Created)
    assert (outcomes[4].created, outcomes[4].job_id) == (False, outcomes[2].job_id)
    assert Job.objects.count() == lane.count() == 2


def test_a_large_bulk_is_stored_as_it_is(biz_type: BizType) -> None:
    bodies = ["a\tb\nc\r", "\\N", "\\.", "\\t", "\\", '"', "ä\u2028🚲", None, {"k\\": ["\x7f", "\\\\n"]}, ""] * 5
    biz_ids = ["\\N", "a\\", "\\tb", "'", '"', "ä🚲", "", "%s", "{}", "\\\\"] * 5
    due = [datetime(1, 1, 2, tzinfo=UTC), datetime(2100, 1, 1, 0, 0, 0, 1, tzinfo=UTC)] * 25

    made = create_many(
        [
            JobRequest(biz_type="order.close", body=body, biz_id=biz_id, due_at=moment, max_attempts=attempts)
            for body, biz_id, moment, attempts in zip(bodies, biz_ids, due, [None, 7] * 25, strict=True)
        ]
    )

    stored = Job.objects.in_bulk()
    assert len(stored) == 50
    for index, one in enumerate(made):
        assert isinstance(one, Created)
        job = stored[one.job_id]
        assert (job.biz_id, job.due_at, job.max_attempts) == (biz_ids[index], due[index], [None, 7][index % 2])
        assert json.loads(job.body) == bodies[index]
        for column in Job._meta.concrete_fields:
            assert getattr(one.job, column.attname) == getattr(job, column.attname), column.attname


def test_a_large_bulk_is_stored_in_order(biz_type: BizType, lane: TimerLane) -> None:
    outcomes = create_many([JobRequest(biz_type="order.close", delay=60 + n, body=n) for n in range(1_200)])

    ids = [outcome.job_id for outcome in outcomes if isinstance(outcome, Created)]
    assert ids == sorted(ids)
    assert list(Job.objects.order_by("id").values_list("body", flat=True)) == [str(n) for n in range(1_200)]
    assert lane.count() == 1_200


@pytest.mark.parametrize(
    ("fields", "field", "code"),
    [
        # no such biz type
        ({"biz_type": "nobody.knows"}, "biz_type", "unknown"),
        # not even a possible code
        ({"biz_type": "Not A Code"}, "biz_type", "invalid"),
        ({"biz_type": None}, "biz_type", "invalid"),
        # a moment without a time zone is no moment
        ({"due_at": "2030-01-01T00:00:00"}, "due_at", "no_time_zone"),
        ({"due_at": datetime(9000, 1, 1, tzinfo=UTC)}, "due_at", "too_far"),
        # some time zone has no date for it, so no page could show it
        ({"due_at": datetime.max.replace(tzinfo=UTC)}, "due_at", "out_of_range"),
        ({"due_at": "next week"}, "due_at", "invalid"),
        ({"due_at": "2030-13-01T00:00:00Z"}, "due_at", "invalid"),
        # two answers to one question
        ({"due_at": "2030-01-01T00:00:00Z", "delay": 1}, "delay", "conflict"),
        ({"delay": -1}, "delay", "negative"),
        ({"delay": 1e300}, "delay", "too_far"),
        ({"delay": float("nan")}, "delay", "invalid"),
        # longer than a column, or unfit for one
        ({"biz_id": "x" * 201}, "biz_id", "too_long"),
        ({"biz_id": "a\x00b"}, "biz_id", "invalid"),
        ({"biz_id": 42}, "biz_id", "invalid"),
        ({"idempotency_key": ""}, "idempotency_key", "blank"),
        ({"priority": 10}, "priority", "invalid"),
        ({"priority": True}, "priority", "invalid"),
        ({"max_attempts": 0}, "max_attempts", "invalid"),
        # bodies that no receiver could take
        ({"body": "x" * 70_000}, "body", "too_large"),
        ({"body": {"a": float("inf")}}, "body", "invalid"),
        ({"body": ["a\x00b"]}, "body", "nul"),
        ({"body": {"\x00": 1}}, "body", "nul"),
        ({"body": [2**64]}, "body", "number"),
        ({"body": "\ud800"}, "body", "invalid"),
        ({"body": {1, 2}}, "body", "invalid"),
    ],
)
def test_a_job_that_cannot_be_is_refused_by_field(
    biz_type: BizType, fields: dict[str, Any], field: str, code: str
) -> None:
    with pytest.raises(InvalidJob) as refusal:
        create(**{"biz_type": "order.close", **fields})

    assert (refusal.value.field, refusal.value.code) == (field, code)
    assert not Job.objects.exists()


@pytest.mark.parametrize("depth", [33, 100_000])
def test_a_body_nested_too_deeply_is_refused(biz_type: BizType, depth: int) -> None:
    body: object = []
    for _ in range(depth - 1):
        body = [body]

    with pytest.raises(InvalidJob) as refusal:
        create("order.close", body=body)

    assert refusal.value.code == "too_deep"


def test_a_body_may_be_32_levels_deep(biz_type: BizType) -> None:
    body: object = []
    for _ in range(31):
        body = [body]

    assert create("order.close", body=body).created


def test_a_disabled_biz_type_takes_no_jobs(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", enabled=False)

    with pytest.raises(InvalidJob, match="disabled"):
        create("order.close")


def test_jobs_beyond_the_insert_rate_are_refused_for_a_while(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", insert_rate=0.5, insert_burst=3)

    outcomes = create_many([JobRequest(biz_type="order.close", body=n) for n in range(5)])

    assert [isinstance(outcome, Created) for outcome in outcomes] == [True, True, True, False, False]
    with pytest.raises(TooManyInserts) as refusal:
        create("order.close")
    assert 0 < refusal.value.retry_after_seconds <= 2
    assert Job.objects.count() == 3


def test_the_insert_rate_does_not_count_without_redis(make_biz_type: MakeBizType, settings: Any) -> None:
    make_biz_type("order.close", insert_rate=0.5, insert_burst=1)
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}

    outcomes = create_many([JobRequest(biz_type="order.close", body=n) for n in range(2)])

    assert all(isinstance(outcome, Created) for outcome in outcomes)


def test_a_timer_fits_in_160_bytes(biz_type: BizType, redis_client: redis.Redis, lane: TimerLane) -> None:
    create_many([JobRequest(biz_type="order.close", delay=60 + n / 1000) for n in range(5_000)])

    used = redis_client.memory_usage(lane.keys.queue("order.close").waiting, samples=0)

    assert lane.count() == 5_000
    assert used / 5_000 <= 160


@pytest.mark.postgresql_only
def test_a_bulk_on_a_broken_connection_fails_as_all_of_djangos_statements_do(biz_type: BizType) -> None:
    import psycopg

    requests = [JobRequest(biz_type="order.close", delay=60) for _ in range(200)]
    biz_type_cache.find({"order.close"}, using="default")
    connection.ensure_connection()
    with psycopg.connect(connection.connection.info.dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [connection.connection.info.backend_pid])

    with pytest.raises(OperationalError):
        create_many(requests)

    assert connection.connection is None
    assert len(create_many(requests)) == 200
