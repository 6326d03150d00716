"""Between running jobs and the dispatcher: which callbacks are made, and what their results and leases become."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from delayhub.testing import run_due_jobs
from tasksapp.biz_types.unreadable import HOLD
from tasksapp.delivery.callback import Callback
from tasksapp.delivery.outcomes import REMARK, CallbackOutcome, CallbackResult, Delivered, GiveUp, Response, Retry
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer
from tasksapp.jobs.creation import create
from tasksapp.models import Attempt, BizType, Job, Status
from tasksapp.models.sealable import UNREADABLE
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.job_callbacks import JobCallbacks
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def callbacks(clock: RedisClock, completer: Completer) -> JobCallbacks:
    return JobCallbacks(clock=clock, completer=completer)


def make(claimer: Claimer, callbacks: JobCallbacks, count: int) -> list[Callback]:
    """Callbacks of new jobs that are due, claimed at monotonic second 100."""
    ids = [create("order.close", due_at=timezone.now() - timedelta(seconds=1)).job_id for _ in range(count)]
    return callbacks.make(claimer.running_jobs(claimer.claim_due(ids, now_ms=0)), claimed_at=100.0)


def test_a_callback_has_what_its_row_and_its_biz_type_say(
    biz_type: BizType, claimer: Claimer, callbacks: JobCallbacks
) -> None:
    job = create("order.close", body={"order": 7}, due_at=timezone.now() - timedelta(seconds=1), max_attempts=3).job

    (callback,) = callbacks.make(claimer.running_jobs(claimer.claim_due([job.id], now_ms=0)), claimed_at=100.0)

    assert (callback.job_id, callback.body, callback.target.url) == (str(job.id), b'{"order":7}', biz_type.url)
    assert (callback.due_ms, callback.attempt, callback.max_attempts) == (due_ms(job.due_at), 1, 3)
    # the options' minute and the biz type's timeout
    assert callback.lease_ends == 100.0 + 60.0 + 10.0


def test_a_renewed_lease_goes_on_and_a_lost_one_ends_now(
    biz_type: BizType, claimer: Claimer, callbacks: JobCallbacks, clock: RedisClock
) -> None:
    kept, lost = make(claimer, callbacks, 2)
    Job.objects.filter(id=lost.job_id).update(lease_token=None)
    before = clock.monotonic()

    callbacks.renew([kept, lost])

    after = clock.monotonic()
    assert before + 70.0 <= kept.lease_ends <= after + 70.0
    assert before <= lost.lease_ends <= after


def test_a_result_completes_its_job(biz_type: BizType, claimer: Claimer, callbacks: JobCallbacks) -> None:
    made = make(claimer, callbacks, 3)

    callbacks.write([CallbackResult(callback, Delivered(), callback.run_at_ms, 5) for callback in made[:2]])

    statuses = dict(Job.objects.values_list("id", "status"))
    assert [statuses[UUID(callback.job_id)] for callback in made] == [*[Status.SUCCEEDED] * 2, Status.RUNNING]


@pytest.mark.parametrize(
    ("kept", "attempts", "outcome", "lines"),
    [
        ("troubled", 0, Delivered(), 0),
        # a success after a failure belongs to what went wrong
        ("troubled", 1, Delivered(), 1),
        ("troubled", 0, Retry("status 500"), 1),
        ("troubled", 0, GiveUp("status 404"), 1),
        ("all", 0, Delivered(), 1),
    ],
)
def test_requests_and_answers_are_kept_unless_the_first_attempt_succeeds(
    biz_type: BizType,
    claimer: Claimer,
    callbacks: JobCallbacks,
    settings: Any,
    kept: str,
    attempts: int,
    outcome: CallbackOutcome,
    lines: int,
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "KEPT_EXCHANGES": kept}
    job_id = create("order.close", due_at=timezone.now() - timedelta(seconds=1)).job_id
    Job.objects.update(attempts=attempts)
    (callback,) = callbacks.make(claimer.running_jobs(claimer.claim_due([job_id], now_ms=0)), claimed_at=100.0)

    answer = Response(200, {"Server": "nginx"}, "fine")
    callbacks.write([CallbackResult(callback, outcome, callback.run_at_ms, 5, answer, "POST https://shop.example/")])

    attempt = Attempt.objects.get()
    assert (attempt.number, attempt.status_code, attempt.duration_ms) == (attempts + 1, 200, 5)
    exchange = [attempt.request_line, attempt.response_headers, attempt.response_body]
    assert exchange == (["POST https://shop.example/", {"Server": "nginx"}, "fine"] if lines else ["", {}, ""])


def test_an_answer_with_a_fault_is_kept_where_it_has_succeeded(
    biz_type: BizType, claimer: Claimer, callbacks: JobCallbacks
) -> None:
    (callback,) = make(claimer, callbacks, 1)

    answer = Response(204, {REMARK: "the body is too long"}, "")
    callbacks.write(
        [CallbackResult(callback, Delivered(), callback.run_at_ms, 5, answer, "POST https://shop.example/")]
    )

    attempt = Attempt.objects.get()
    assert (attempt.job.status, attempt.error, attempt.status_code) == (Status.SUCCEEDED, "", 204)
    assert attempt.response_headers == {"delayhub-remark": "the body is too long"}
    assert attempt.request_line == "POST https://shop.example/"


def test_a_job_whose_name_leads_inside_is_delivered_once_it_leads_out_and_else_dies_with_the_reason(
    make_biz_type: MakeBizType, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    leads_to: list[str] = []
    port = urlsplit(receiver.url()).port

    def resolve(host: str, *_: object, **__: object) -> list[Any]:
        address = leads_to.pop() if host == "shop.example" else host
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    make_biz_type("order.named", url=f"http://shop.example:{port}/", max_attempts=2)
    for second, status in (("127.0.0.1", Status.SUCCEEDED), ("10.1.2.3", Status.DEAD)):
        leads_to.extend([second, "10.1.2.3"])
        job_id = create("order.named").job_id
        (first,) = run_due_jobs(send=True)
        assert (first.job.status, first.job.error_class) == (Status.PENDING, "address")
        Job.objects.filter(id=job_id).update(next_run_at=timezone.now())
        (last,) = run_due_jobs(send=True)
        assert (last.job.status, last.job.attempts) == (status, 2)

    assert last.job.last_error.startswith("all 2 attempts failed; the last: callbacks may not go to shop.example")


def test_jobs_whose_secret_cannot_be_read_are_given_back_and_get_timers(
    biz_type: BizType, claimer: Claimer, callbacks: JobCallbacks, lane: TimerLane
) -> None:
    BizType.objects.update(signing_secret_sealed="gAAAAA-of-another-key")

    assert make(claimer, callbacks, 2) == []

    for job in Job.objects.all():
        assert (job.status, job.attempts, job.last_error) == (Status.PENDING, 0, f"not sent: {UNREADABLE}")
        assert job.next_run_at - timezone.now() > HOLD / 2
        assert lane.look("order.close", [str(job.id)]) == [due_ms(job.next_run_at)]


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_job_waits_whose_secret_headers_were_given_for_another_host(
    biz_type: BizType, claimer: Claimer, callbacks: JobCallbacks, caplog: Any, encrypted: bool
) -> None:
    BizType.objects.update(encrypted=encrypted)
    due_at = timezone.now() - timedelta(seconds=1)
    job_id = create("order.close", due_at=due_at, request={"headers": {"Authorization": "Bearer mine"}}).job_id
    BizType.objects.update(url="https://evil.example/", updated_at=timezone.now())

    made = callbacks.make(claimer.running_jobs(claimer.claim_due([job_id], now_ms=0)), claimed_at=100.0)

    job = Job.objects.get()
    assert (made, job.status, job.attempts, job.system_errors) == ([], Status.PENDING, 0, 0)
    assert job.last_error.startswith("not sent: Authorization of the job: given for https://")
    assert "a job waits as it stands" in caplog.text
    assert ("given for https://" in caplog.text) is not encrypted


@pytest.mark.parametrize("request_of_later", ['{"signed_url":true}', '!{"timeout_seconds":3}'])
def test_a_job_whose_request_a_later_release_wrote_waits_and_holds_up_no_other_one(
    biz_type: BizType, claimer: Claimer, callbacks: JobCallbacks, request_of_later: str
) -> None:
    due_at = timezone.now() - timedelta(seconds=1)
    unknown = create("order.close", due_at=due_at, request={"timeout_seconds": 3.0}).job_id
    other = create("order.close", due_at=due_at, request={"timeout_seconds": 3.0}).job_id
    Job.objects.filter(id=unknown).update(request=request_of_later)

    made = callbacks.make(claimer.running_jobs(claimer.claim_due([unknown, other], now_ms=0)), claimed_at=100.0)

    assert [callback.job_id for callback in made] == [str(other)]
    job = Job.objects.get(id=unknown)
    assert (job.status, job.attempts, job.last_error) == (
        Status.PENDING,
        0,
        "not sent: its request is of a later release",
    )
    assert job.next_run_at - timezone.now() > HOLD / 2


def test_nothing_is_sent_whose_biz_type_asks_for_an_authorization_that_a_later_release_knows(
    biz_type: BizType, claimer: Claimer, callbacks: JobCallbacks
) -> None:
    BizType.objects.update(auth="signed_jwt", guarantee=BizType.Guarantee.AT_MOST_ONCE)

    assert make(claimer, callbacks, 2) == []

    for job in Job.objects.all():
        reason = "not sent: its auth 'signed_jwt' is of a later release"
        assert (job.status, job.attempts, job.last_error) == (Status.PENDING, 0, reason)
