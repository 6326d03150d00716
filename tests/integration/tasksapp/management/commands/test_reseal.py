"""``manage.py reseal``: an old key can be dropped when it has run."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import redis
from cryptography.fernet import Fernet
from django.core.management import CommandError
from django.db import connections
from django.utils import timezone

from tasksapp import jobs, series
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.delivery.own_request import read_own_request
from tasksapp.jobs.at_rest import said_at_rest
from tasksapp.maintenance import resealer
from tasksapp.maintenance.resealer import Resealer
from tasksapp.models import Attempt, BizType, Job, Series, Tombstone
from tasksapp.models.encrypted_text import open_sealed
from tasksapp.models.sealable import stored
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.commands import run_command
from tests.integration.tasksapp.everywhere import places_of
from tests.integration.tasksapp.receiver import Receiver
from tests.integration.tasksapp.stored_jobs import due

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = {"headers": {"Authorization": "Bearer mine", "X-Region": "eu"}}
OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


def use(settings: Any, *keys: str) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [*keys]}


@pytest.fixture
def sealed(settings: Any, make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch) -> BizType:
    """Secrets of a biz type, a series and its job, and five jobs, under the old key; steps of two jobs."""
    monkeypatch.setattr(resealer, "LOOK_ROWS", 2)
    monkeypatch.setattr(resealer, "CHANGE_ROWS", 1)
    use(settings, OLD)
    biz_type = make_biz_type("order.close", auth_secret="user:password")
    series.create("order.close", name="hourly", every=timedelta(hours=1), request=SECRET)
    for raw in (None, b"\x00\xff", None, None, None):
        jobs.create("order.close", delay=3600, request=SECRET, raw=raw)
    jobs.create("order.close", delay=3600, request={"headers": {"X-Region": "eu"}})
    jobs.create("order.close", delay=3600)
    return biz_type


def opened() -> list[str]:
    """The secret headers of all jobs and series that have some."""
    texts = [row.request for row in (*Job.objects.all(), *Series.objects.all())]
    kept = [read_own_request(text).sealed for text in texts]
    return [open_sealed(own["Authorization"]) for own in kept if own]


def test_the_old_key_can_go_when_it_has_run(settings: Any, sealed: BizType) -> None:
    use(settings, NEW, OLD)
    before = {job.id: job for job in Job.objects.all()}

    counted = run_command("reseal", "--dry-run")
    said, again = run_command("reseal"), run_command("reseal")

    assert counted == "need an old key: 1 secret of a biz type, 1 series, 6 jobs; looked at 8 jobs\n"
    assert said == "encrypted again: 1 secret of a biz type, 1 series, 6 jobs; looked at 8 jobs\n"
    assert again == "encrypted again: 0 secrets of biz types, 0 series, 0 jobs; looked at 8 jobs\n"
    use(settings, NEW)
    assert opened() == ["Bearer mine"] * 7
    assert BizType.objects.get().auth_secret == "user:password"
    for job in Job.objects.all():
        had, has = read_own_request(before[job.id].request), read_own_request(job.request)
        assert has._replace(sealed={}) == had._replace(sealed={})
        assert (job.version, job.updated_at) == (before[job.id].version, before[job.id].updated_at)


def test_a_run_that_was_broken_off_is_begun_again(settings: Any, sealed: BizType) -> None:
    use(settings, NEW, OLD)
    broken = Resealer(using="default")

    next(broken.run_jobs())

    assert broken.done.jobs == 2
    assert run_command("reseal").startswith("encrypted again: 1 secret of a biz type, 1 series, 4 jobs;")
    use(settings, NEW)
    assert opened() == ["Bearer mine"] * 7


def test_secrets_that_no_key_opens_are_named_and_left(settings: Any, sealed: BizType) -> None:
    use(settings, NEW)
    before = list(Job.objects.order_by("id").values_list("request", flat=True))

    with pytest.raises(CommandError, match=r"8 cannot be read with any key, bring the old one back: biz type order.*"):
        run_command("reseal")

    assert list(Job.objects.order_by("id").values_list("request", flat=True)) == before


def test_a_row_that_changes_meanwhile_is_left_to_that_change(settings: Any, sealed: BizType) -> None:
    use(settings, NEW, OLD)
    job = Job.objects.exclude(request="").order_by("id").first()
    assert job is not None
    changed = read_own_request(job.request)._replace(timeout_seconds=1.0).text()
    reseal = Resealer(using="default")
    Job.objects.filter(id=job.id).update(request=changed)

    reseal._reseal_job(job, [])

    assert (Job.objects.get(id=job.id).request, reseal.done.jobs) == (changed, 0)


SAID = "bad card 4111"


def said(job_id: Any) -> None:
    """Something was said about the job."""
    Job.objects.filter(id=job_id).update(last_error=SAID)
    Attempt.objects.create(
        job_id=job_id, number=1, started_at=timezone.now(), duration_ms=1, lateness_ms=1, error=SAID,
        response_headers={"x": SAID}, response_body=SAID,
    )  # fmt: skip


def test_all_of_encrypted_jobs_is_under_the_new_key(settings: Any, make_biz_type: MakeBizType) -> None:
    use(settings, OLD)
    make_biz_type("order.close", encrypted=True)
    made = series.create("order.close", name="hourly", every=timedelta(hours=1), body=SAID, request=SECRET)
    for raw in (None, b"\x00\xff"):
        jobs.create("order.close", delay=3600, body=None if raw else SAID, raw=raw, request=SECRET)
    for job in Job.objects.all():
        said(job.id)
        Job.objects.filter(id=job.id).update(**said_at_rest(Job.objects.get(id=job.id), using="default"))

    use(settings, NEW, OLD)
    assert run_command("reseal").startswith("encrypted again: 0 secrets of biz types, 1 series, 3 jobs;")
    assert run_command("reseal").startswith("encrypted again: 0 secrets of biz types, 0 series, 0 jobs;")

    use(settings, NEW)
    assert json.loads(Series.objects.get(pk=made.pk).body) == SAID
    bodies = sorted(str(job.body if job.raw is None else bytes(job.raw)) for job in Job.objects.all())
    assert bodies == sorted([f'"{SAID}"', f'"{SAID}"', str(b"\x00\xff")])
    assert {job.last_error for job in Job.objects.all()} == {SAID}
    assert opened() == ["Bearer mine"] * 4
    for attempt in Attempt.objects.all():
        assert (attempt.error, attempt.response_body, attempt.response_headers) == (SAID, SAID, {"x": SAID})


def test_what_is_from_before_is_encrypted_unless_it_runs(settings: Any, make_biz_type: MakeBizType) -> None:
    biz_type = make_biz_type("order.close")
    first, running = (jobs.create("order.close", delay=3600, body=SAID).job_id for _ in range(2))
    series.create("order.close", name="hourly", every=timedelta(hours=1), body=SAID)
    said(first)
    Job.objects.filter(id=running).update(status="running")
    BizType.objects.filter(pk=biz_type.pk).update(encrypted=True)

    assert "1 job runs that are to be encrypted" in run_command("reseal")

    job = Job.objects.get(id=first)
    assert (job.is_sealed, job.body, job.last_error) == (True, f'"{SAID}"', SAID)
    assert stored(job, "last_error").startswith("@1")
    assert stored(Attempt.objects.get(), "error").startswith("@1")
    assert stored(Series.objects.get(), "body").startswith("@1")
    assert not Job.objects.get(id=running).is_sealed


def test_it_goes_as_fast_as_it_is_told_and_on_where_it_was_broken_off(settings: Any, sealed: BizType) -> None:
    use(settings, NEW, OLD)
    ids = list(Job.objects.order_by("id").values_list("id", flat=True))

    began = time.monotonic()
    run_command("reseal", "--after", str(ids[3]), "--rate", "10")

    assert time.monotonic() - began >= 0.2
    assert run_command("reseal", "--dry-run").startswith("need an old key: 0 secrets of biz types, 0 series, 4 jobs;")
    with pytest.raises(CommandError, match="--rate must be positive"):
        run_command("reseal", "--rate", "0")


def test_keys_rotate_while_jobs_run(
    settings: Any, make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resealer, "CHANGE_ROWS", 2)
    make_biz_type("order.close", url=receiver.url(), encrypted=True)
    use(settings, OLD)
    far = [jobs.create("order.close", delay=3600, body=number).job_id for number in range(30)]
    use(settings, OLD, NEW)
    made = [due(body=number) for number in range(30, 35)]
    use(settings, NEW, OLD)

    with ThreadPoolExecutor(max_workers=1) as thread:
        reseal = thread.submit(resealed_beside)
        for number in range(35, 45):
            made.append(due(body=number))
            fire()
        reseal.result(60)
    use(settings, NEW)
    for job_id in far:
        jobs.run_now(job_id)
    while fire():
        pass

    assert sorted(int(received.body) for received in receiver.received) == list(range(45))
    assert set(Job.objects.values_list("status", flat=True)) == {"succeeded"}
    assert len(far) + len(made) == 45


def resealed_beside() -> None:
    """A whole run in a thread of its own."""
    try:
        for _looked_at in Resealer(using="default", rate=200).run_jobs():
            pass
    finally:
        connections.close_all()


def test_answers_count_and_a_newer_one_stays(
    settings: Any, make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, OLD)
    make_biz_type("told", encrypted=True)
    make_biz_type("asked", on_resolved="told", encrypted=True)
    jobs.resolve("asked", "42", outcome="approved", body=SAID)
    use(settings, NEW, OLD)
    assert run_command("reseal", "--dry-run").startswith("need an old key: 0 secrets of biz types, 0 series, 1 answer,")
    again = resealer._again

    def answered_meanwhile(row: Any, columns: Any) -> dict[str, Any]:
        found = again(row, columns)
        newer = Tombstone.objects.get()
        newer.answer = '"newer"'
        newer.seal()
        Tombstone.objects.update(answer=stored(newer, "answer"))
        return found

    with monkeypatch.context() as patched:
        patched.setattr(resealer, "_again", answered_meanwhile)
        assert "answer" not in run_command("reseal")

    assert Tombstone.objects.get().answer == '"newer"'


def test_what_was_said_of_a_job_before_it_was_replaced_is_encrypted_too(
    settings: Any, make_biz_type: MakeBizType, redis_client: redis.Redis
) -> None:
    biz_type = make_biz_type("order.once", one_live="replace")
    job_id = jobs.create("order.once", biz_id="42", delay=3600).job_id
    said(job_id)
    BizType.objects.filter(pk=biz_type.pk).update(encrypted=True)
    biz_type_cache.clear()
    jobs.create("order.once", biz_id="42", delay=3600, body=1)

    assert run_command("reseal").startswith("encrypted again: 0 secrets of biz types, 0 series, 1 job;")
    assert run_command("reseal").startswith("encrypted again: 0 secrets of biz types, 0 series, 0 jobs;")

    assert places_of(SAID, redis_client) == []
    assert (Job.objects.get().last_error, Attempt.objects.get().response_body) == (SAID, SAID)
