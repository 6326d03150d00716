"""From a due timer to a callback and its outcome, in one process: the task is called as a worker calls it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import redis
from django.utils import timezone
from standardwebhooks import Webhook

from delayhub.engine import Gate, TimerLane, due_ms
from delayhub.webhooks.signature import new_secret
from tasksapp import jobs
from tasksapp.jobs.creation import create
from tasksapp.models import UNTIL_RESUMED, Attempt, BizType, Job, Status
from tasksapp.models.sealable import UNREADABLE
from tasksapp.tasks import deliver
from tasksapp.workers.delivery_runtime import delivery_runtime
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver, answering

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("ends_delivery")]


def make_due(job_id: UUID) -> None:
    """Lets the job's retry be due at once."""
    jobs.run_now(job_id)


def test_a_due_job_becomes_a_signed_callback_and_succeeds(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    secret = new_secret()
    make_biz_type(
        "close",
        url=receiver.url(),
        signing_secret=secret,
        headers={"X-Shop": "1"},
        auth="basic",
        auth_secret="user:word",
    )
    job = create("close", body={"order": 42}, traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01").job

    fire()

    (request,) = receiver.received
    assert Webhook(secret).verify(request.body, request.headers) == {"order": 42}
    assert request.headers["webhook-id"] == str(job.id)
    assert request.headers["Authorization"] == "Basic dXNlcjp3b3Jk"
    assert request.headers["X-Shop"] == "1"
    assert request.headers["traceparent"] == job.traceparent
    assert (request.headers["delayhub-attempt"], request.headers["delayhub-max-attempts"]) == ("1", "16")
    assert int(request.headers["delayhub-lateness-ms"]) >= 0
    assert "Cookie" not in request.headers
    job.refresh_from_db()
    assert (job.status, job.attempts, job.last_error) == (Status.SUCCEEDED, 1, "")
    attempt = Attempt.objects.get()
    assert (attempt.status_code, attempt.number, attempt.error) == (204, 1, "")
    assert attempt.lateness_ms >= 0


def test_a_failed_attempt_is_logged_and_tried_again_after_its_backoff(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, lane: TimerLane
) -> None:
    make_biz_type("close", url=receiver.url(), backoff_min_seconds=60, jitter=0, max_attempts=2)
    receiver.answer = answering(503)
    job_id = create("close").job_id

    fire()

    job = Job.objects.get()
    assert (job.status, job.attempts, job.last_error) == (Status.PENDING, 1, "status 503")
    assert timedelta(seconds=50) < job.next_run_at - timezone.now() <= timedelta(seconds=60)
    assert lane.count("close") == 1
    attempt = Attempt.objects.get()
    assert (attempt.status_code, attempt.response_body, attempt.error) == (503, "the answer", "status 503")

    make_due(job_id)
    fire()

    job.refresh_from_db()
    assert (job.status, job.attempts) == (Status.DEAD, 2)
    assert "all 2 attempts failed" in job.last_error
    assert [attempt.number for attempt in Attempt.objects.all()] == [1, 2]
    assert lane.count("close") == 0


def test_a_redriven_job_has_a_new_budget_and_its_attempts_count_on(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    make_biz_type("close", url=receiver.url(), max_attempts=1)
    receiver.answer = answering(500)
    job_id = create("close").job_id
    fire()
    assert Job.objects.get().status == Status.DEAD
    receiver.answer = answering(200)

    jobs.redrive(job_id)
    fire()

    assert Job.objects.get().status == Status.SUCCEEDED
    assert list(Attempt.objects.values_list("number", "status_code")) == [(1, 500), (2, 200)]
    assert receiver.received[1].headers["delayhub-attempt"] == "1"


def test_a_redrive_keeps_the_id_and_says_that_it_is_one(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    make_biz_type("close", url=receiver.url(), max_attempts=1)
    receiver.answer = answering(500)
    job_id = create("close").job_id
    fire()

    for _ in range(2):
        jobs.redrive(job_id)
        fire()

    seen = [(one.headers["webhook-id"], one.headers.get("delayhub-redrive")) for one in receiver.received]
    assert seen == [(str(job_id), None), (str(job_id), "1"), (str(job_id), "2")]
    assert Job.objects.get().redrives == 2


@pytest.mark.parametrize(
    ("status", "headers", "becomes", "error"),
    [
        # gone for good, and what the biz type calls permanent
        (410, {}, Status.DEAD, "status 410"),
        (422, {}, Status.DEAD, "status 422"),
        # redirects are failures, not addresses
        (302, {"Location": "http://169.254.169.254/"}, Status.PENDING, "status 302: redirects are not followed"),
        (400, {}, Status.PENDING, "status 400"),
        (429, {}, Status.PENDING, "status 429"),
        # the receiver steers
        (500, {"DelayHub_Action": "done"}, Status.SUCCEEDED, ""),
        (200, {"DelayHub_Action": "fail"}, Status.DEAD, "the receiver said: fail"),
        (200, {"DelayHub_Action": "retry"}, Status.PENDING, "the receiver said: retry"),
    ],
)
def test_the_answer_decides(
    make_biz_type: MakeBizType,
    receiver: Receiver,
    fire: Fire,
    *,
    status: int,
    headers: dict[str, str],
    becomes: Status,
    error: str,
) -> None:
    make_biz_type("close", url=receiver.url(), permanent_status_codes=[422])
    receiver.answer = answering(status, **headers)
    create("close")

    fire()

    job = Job.objects.get()
    assert (job.status, job.last_error) == (becomes, error)
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    "headers",
    [{"Retry_After": "120"}, {"DelayHub_Action": "retry", "DelayHub_Next_In": "120"}],
)
def test_the_receiver_says_when_to_try_again(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, headers: dict[str, str]
) -> None:
    make_biz_type("close", url=receiver.url(), backoff_min_seconds=1)
    receiver.answer = answering(503, **headers)
    create("close")

    fire()

    assert timedelta(seconds=110) < Job.objects.get().next_run_at - timezone.now() <= timedelta(seconds=120)


def test_a_receiver_can_call_off_the_other_jobs_of_the_business_key(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    make_biz_type("close", url=receiver.url())
    receiver.answer = answering(200, DelayHub_Action="cancel-others")
    now = create("close", biz_id="order-1").job_id
    later = create("close", biz_id="order-1", delay=600).job_id
    other = create("close", biz_id="order-2", delay=600).job_id

    fire()

    statuses = {job.id: job.status for job in Job.objects.all()}
    assert statuses == {now: Status.SUCCEEDED, later: Status.CANCELLED, other: Status.PENDING}


def test_a_cancelled_job_is_never_delivered(make_biz_type: MakeBizType, receiver: Receiver, lane: TimerLane) -> None:
    make_biz_type("close", url=receiver.url())
    job_id = create("close").job_id
    claim = lane.claim()
    jobs.cancel(job_id)

    deliver([str(job_id)], lane=lane.name, now_ms=claim.now_ms)

    assert delivery_runtime().outcome_writer.wait_until_idle(20)
    assert receiver.received == []
    assert Job.objects.get().status == Status.CANCELLED


def test_a_job_that_was_moved_gets_a_timer_at_its_new_time(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, lane: TimerLane
) -> None:
    make_biz_type("close", url=receiver.url())
    job_id = create("close").job_id
    moved = timezone.now() + timedelta(seconds=90)
    Job.objects.update(next_run_at=moved)  # as if Redis had been away when it was moved

    fire()

    assert receiver.received == []
    waiting = lane.client.zrange(lane.keys.queue("close").waiting, 0, -1, withscores=True)
    assert waiting == [(str(job_id).encode(), due_ms(moved) * 16 + 5)]
    assert Job.objects.get(id=job_id).status == Status.PENDING


def test_a_paused_biz_type_keeps_its_jobs(make_biz_type: MakeBizType, receiver: Receiver, fire: Fire) -> None:
    make_biz_type("close", url=receiver.url())
    create("close")
    BizType.objects.update(paused_until=UNTIL_RESUMED)

    fire()

    job = Job.objects.get()
    assert (job.status, job.attempts, job.version) == (Status.PENDING, 0, 1)
    assert receiver.received == []


def test_a_callback_to_a_private_address_is_not_sent(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "ALLOWED_NETWORKS": []}
    make_biz_type("close", url=receiver.url())
    create("close")

    fire()

    job = Job.objects.get()
    assert job.status == Status.DEAD
    assert "callbacks may not go to 127.0.0.1" in job.last_error
    assert receiver.received == []


def test_a_job_that_may_be_sent_once_is_not_repeated_after_an_answer_but_after_no_connection(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    make_biz_type("answered", url=receiver.url(), guarantee="at_most_once")
    make_biz_type("refused", url="http://127.0.0.1:1/", guarantee="at_most_once")
    receiver.answer = answering(500)
    answered, refused = create("answered").job_id, create("refused").job_id

    fire()

    assert Job.objects.get(id=answered).status == Status.DEAD
    job = Job.objects.get(id=refused)
    assert (job.status, job.attempts) == (Status.PENDING, 1)


def test_a_job_whose_secret_cannot_be_opened_waits_without_using_an_attempt(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    biz_type = make_biz_type("close", url=receiver.url())
    BizType.objects.filter(id=biz_type.id).update(signing_secret_sealed="gAAAAA-of-another-key")
    create("close")

    fire()

    job = Job.objects.get()
    assert (job.status, job.attempts, job.last_error) == (Status.PENDING, 0, f"not sent: {UNREADABLE}")
    assert job.system_errors == 0
    assert receiver.received == []


def test_a_job_frees_its_slot_of_max_in_flight(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, lane: TimerLane, redis_client: redis.Redis
) -> None:
    make_biz_type("close", url=receiver.url(), max_in_flight=2)
    lane.set_gate("close", Gate(max_in_flight=2))
    for _ in range(5):
        create("close")

    batches = [len(fire()) for _ in range(4)]

    assert batches == [2, 2, 1, 0]
    assert redis_client.zcard(lane.keys.queue("close").in_flight) == 0


def test_while_secrets_rotate_a_receiver_may_have_either(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    old, new = new_secret(), new_secret()
    until = timezone.now() + timedelta(days=1)
    make_biz_type(
        "close",
        url=receiver.url(),
        signing_secret=new,
        previous_signing_secret=old,
        previous_secret_until=until,
    )
    make_biz_type(
        "over",
        url=receiver.url(),
        signing_secret=new,
        previous_signing_secret=old,
        previous_secret_until=timezone.now() - timedelta(seconds=1),
    )
    create("close", body=1)
    create("over", body=2)

    fire()

    rotating, over = sorted(receiver.received, key=lambda request: request.body)
    for secret in (old, new):
        assert Webhook(secret).verify(rotating.body, rotating.headers) == 1
    assert len(over.headers["webhook-signature"].split(" ")) == 1
    assert Webhook(new).verify(over.body, over.headers) == 2
