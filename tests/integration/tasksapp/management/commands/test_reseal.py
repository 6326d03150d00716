"""``manage.py reseal``: an old key can be dropped when it has run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError

from tasksapp import jobs, series
from tasksapp.delivery.own_request import read_own_request
from tasksapp.maintenance import resealer
from tasksapp.maintenance.resealer import Resealer
from tasksapp.models import BizType, Job, Series
from tasksapp.models.encrypted_text import open_sealed
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.commands import run_command

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
    texts = [*Job.objects.values_list("request", flat=True), *Series.objects.values_list("request", flat=True)]
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

    reseal._keep(Job, job, "request", resealer._resealed_request, what="")

    assert (Job.objects.get(id=job.id).request, reseal.done.jobs) == (changed, 0)
