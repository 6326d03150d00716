"""Mover: a tenant is on one site or the other, wherever the move ended; all that it had is there, once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import include, path
from django.utils import timezone

from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.access.key_verbs import rotate
from tasksapp.access.keys import issue_key
from tasksapp.errors import MoveFailed, TenantMoving
from tasksapp.jobs.bulk import apply_many
from tasksapp.jobs.verbs import Verb
from tasksapp.models import ApiKey, BizType, Job, Status, Tenant
from tasksapp.models.api_key import MOVING
from tasksapp.series.verbs import create as create_series
from tasksapp.series.verbs import pause as pause_series
from tasksapp.transfer import departure, mover
from tasksapp.transfer.mover import Mover
from tests.fixture_types import MakeBizType
from tests.moving_tenant import THERE, Killed, Road, live, open_sites

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "there"]),
    pytest.mark.usefixtures("_another_site"),
]


def get(client: Client, key: str) -> Any:
    return client.get("/api/v1/jobs?biz_type=order.close", headers={"Authorization": f"Bearer {key}"})


def test_a_tenant_moves_and_comes_back(road: Road, key: str, client: Client) -> None:
    before = live("default")

    road.mover().move()

    assert (live("default"), live("there"), open_sites()) == (set(), before, {"there"})
    assert BizType.objects.using("there").get(code="order.close").auth_secret == "user:password"
    assert not BizType.objects.using("there").get(code="order.old").enabled
    assert [job.status for job in Job.objects.all()] == ["succeeded"], "what is over stays"
    answer = get(client, key)
    assert (answer.status_code, answer["Location"]) == (308, f"{THERE}/api/v1/jobs?biz_type=order.close")
    assert ApiKey.objects.using("there").get().moved_to == ""

    road.mover(home="there", to="").move()

    assert (live("default"), live("there"), open_sites()) == (before, set(), {"default"})
    assert not BizType.objects.using("default").get(code="order.old").enabled
    assert get(client, key).status_code == 200
    assert ApiKey.objects.using("there").get().moved_to == MOVING


def test_what_became_of_keys_there_holds_when_it_comes_back(road: Road, key: str, client: Client) -> None:
    for name, ids in (("leaked", []), ("gone", []), ("of none", [77])):
        issue_key(name, tenant=Tenant.objects.get(code="acme"), biz_type_ids=ids)
    road.mover().move()
    there = ApiKey.objects.using("there")
    there.filter(name="leaked").update(enabled=False)
    there.filter(name="gone").delete()
    renewed = rotate(there.get(name="shop"))

    road.mover(home="there", to="").move()

    assert [get(client, each).status_code for each in (renewed, key)] == [200, 200]
    assert {row.name: row.enabled for row in ApiKey.objects.exclude(name="of none")} == {"leaked": False, "shop": True}
    assert all(rows.get(name="of none").biz_type_ids for rows in (there, ApiKey.objects))


def test_ended_at_any_step_it_goes_on(road: Road, key: str, client: Client, settings: Any) -> None:
    before = live("default")
    for step in itertools.count():
        road.killed_at, road.said = step, []
        home, other = ("default", "there") if step % 2 == 0 else ("there", "default")
        try:
            road.mover(home=home).move()
        except Killed:
            assert open_sites() <= {home} or open_sites() <= {other}
            assert live("default") | live("there") == before
            road.killed_at = None
            road.mover(home=home).move()
        else:
            break
        assert (live(home), live(other), open_sites()) == (set(), before, {other})
    assert step >= 5


@pytest.mark.parametrize("step", [0, 1, 2])
def test_ended_before_the_other_site_has_it_alone_it_goes_back(road: Road, key: str, client: Client, step: int) -> None:
    before = live("default")
    road.killed_at = step
    with pytest.raises(Killed):
        road.mover().move()
    assert get(client, key).status_code == 503
    assert get(client, key)["Retry-After"] == "2"
    road.killed_at = None

    road.mover().back()

    assert (live("default"), live("there"), open_sites()) == (before, set(), {"default"})
    assert get(client, key).status_code == 200
    assert not BizType.objects.using("there").filter(tenant__code="acme").exists()
    with pytest.raises(MoveFailed, match="no move of it has begun"):
        road.mover().back()


def test_ended_before_it_noted_that_it_has_let_go_it_goes_on(
    road: Road, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, keep = live("default"), Mover._keep

    def killed(self: Mover, progress: Any) -> None:
        if progress.left:
            raise Killed
        keep(self, progress)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Mover, "_keep", killed)
        road.mover().move()
    with pytest.raises(MoveFailed, match="has let go of it already"):
        road.mover().back()

    road.mover().move()

    assert (live("default"), live("there"), open_sites()) == (set(), before, {"there"})
    with pytest.raises(MoveFailed, match="acme is not here: it was moved to another site"):
        road.mover().move()


def test_it_is_too_late_to_go_back_when_this_site_has_let_go(road: Road, key: str) -> None:
    road.killed_at = 3
    with pytest.raises(Killed):
        road.mover().move()
    road.killed_at = None

    with pytest.raises(MoveFailed, match="has let go of it already"):
        road.mover().back()


def test_what_is_changed_meanwhile_comes_along(road: Road, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = Job.objects.get(biz_id="order-0")
    leave = departure.Departure.leave

    def cancel_first(self: Any, *, digest: str | None, moved_to: str | None) -> None:
        monkeypatch.setattr(departure.Departure, "leave", leave)
        # As a cancel does that began before the move.
        Job.objects.filter(id=cancelled.id).update(status=Status.CANCELLED, finished_at=timezone.now())
        leave(self, digest=digest, moved_to=moved_to)

    monkeypatch.setattr(departure.Departure, "leave", cancel_first)

    road.mover().move()

    assert "something of acme was changed meanwhile: once more" in road.said
    assert str(cancelled.id) not in {job_id for job_id, _status in live("there")}
    assert len(live("there")) == 2


def test_jobs_that_run_end_first(road: Road, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mover, "DRAIN_SECONDS", 0.0)
    monkeypatch.setattr(mover, "LOOK_SECONDS", 0.0)
    Job.objects.filter(biz_id="order-0").update(status=Status.RUNNING)

    with pytest.raises(MoveFailed, match="1 of its jobs still run"):
        road.mover().move()

    Job.objects.filter(biz_id="order-0").update(status=Status.SUCCEEDED)
    road.mover().move()
    assert len(live("there")) == 2


def test_no_other_way_in_changes_anything_meanwhile(key: str, make_biz_type: MakeBizType) -> None:
    job = Job.objects.get(biz_id="order-0")
    nightly = create_series("order.close", name="nightly", cron="0 0 * * *", tenant="acme")
    make_biz_type("order.close")
    leaving = departure.Departure(Tenant.objects.get(code="acme"), by=Actor("ada"), using="default")
    ways: list[Callable[[], object]] = [
        lambda: jobs.create("order.close", tenant="acme", delay=60),
        lambda: jobs.create_many([jobs.JobRequest("order.close", delay=60)], tenant="acme"),
        lambda: jobs.cancel(job.id),
        lambda: jobs.edit(job.id, delay=900),
        lambda: jobs.resolve("order.close", "order-0", tenant="acme"),
        lambda: pause_series(nightly.pk),
    ]

    leaving.close()

    for way in ways:
        with pytest.raises(TenantMoving, match=r"order\.close is being moved to another site: try again in a moment"):
            way()
    assert apply_many(Verb.CANCEL, [job.id]).changed == 0
    assert jobs.create("order.close", delay=60).created, "of another tenant"
    job.refresh_from_db()
    assert (job.status, job.version) == (Status.PENDING, 1)

    leaving.reopen()

    assert jobs.cancel(job.id).status == Status.CANCELLED
    assert jobs.create("order.close", tenant="acme", delay=60).created


def test_people_of_a_session_are_asked_to_come_again(admin_client: Client, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close")
    job = jobs.create("order.close", delay=600).job
    departure.Departure(Tenant.objects.get(code="default"), by=Actor("ada"), using="default").close()

    body = {"biz_type": "order.close", "delay": 60}
    created = admin_client.post("/api/v1/jobs", body, "application/json")
    bulk = admin_client.post("/api/v1/jobs/bulk", {"jobs": [body]}, "application/json")
    cancelled = admin_client.post(f"/api/v1/jobs/{job.id}/cancel", {}, "application/json")

    for answer in (created, bulk, cancelled):
        assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (503, "moving", "2")


def test_what_is_imported_takes_no_jobs_before_it_is_open(road: Road, key: str) -> None:
    road.killed_at = 2
    with pytest.raises(Killed):
        road.mover().move()
    road.killed_at = None

    with pytest.raises(TenantMoving):
        jobs.create("order.close", tenant="acme", delay=60, using="there")
    road.mover().move()

    assert jobs.create("order.close", tenant="acme", delay=60, using="there").created
    with pytest.raises(TenantMoving):
        jobs.create("order.close", tenant="acme", delay=60)


def test_pullers_may_end_what_they_have_but_claim_nothing(client: Client, key: str) -> None:
    ApiKey.objects.update(moved_to=MOVING, scopes=["jobs:pull"])
    headers = {"Authorization": f"Bearer {key}"}

    new = client.post("/api/v1/claims", {"biz_type": "order.close"}, "application/json", headers=headers)
    ended = client.post("/api/v1/claims/of-another-time/done", {}, "application/json", headers=headers)

    assert (new.status_code, new.json()["code"]) == (503, "moving")
    assert ended.json()["code"] != "moving"


def test_an_api_that_is_mounted_below_claims_is_closed_as_any_other(client: Client, key: str, settings: Any) -> None:
    urls = ModuleType("mounted_below_claims")
    urls.urlpatterns = [path("claims/", include("tasksapp.api.urls"))]  # type: ignore[attr-defined]  # of a module
    settings.ROOT_URLCONF = urls
    ApiKey.objects.update(moved_to=MOVING)

    answer = client.get("/claims/v1/jobs", headers={"Authorization": f"Bearer {key}"})

    assert (answer.status_code, answer.json()["code"]) == (503, "moving")


def test_a_biz_type_that_is_at_work_there_is_not_mixed_with_this_one(road: Road, key: str) -> None:
    other = Tenant.objects.using("there").create(code="acme")
    row = BizType(tenant=other, code="order.close", url="https://shop.example/hooks")
    row.save(using="there")

    with pytest.raises(MoveFailed, match=r"biz type 'order\.close' is here already, and at work"):
        road.mover().move()

    assert live("there") == set()


@pytest.mark.postgresql_only  # on SQLite nobody writes beside an open transaction
def test_a_job_whose_transaction_outlasts_the_export_moves_along(road: Road, key: str) -> None:
    is_made, is_imported, is_let_go = threading.Event(), threading.Event(), threading.Event()
    say = road.say

    def tell(sentence: str) -> None:
        say(sentence)
        if sentence.startswith("imported there"):
            is_imported.set()
        if sentence == "let go here":
            is_let_go.set()

    def make() -> str:
        try:
            with transaction.atomic():
                made = jobs.create("order.close", tenant="acme", delay=600, biz_id="late")
                is_made.set()
                is_imported.wait(60)
                is_let_go.wait(2)  # it is not: this transaction is waited for
            return str(made.job_id)
        finally:
            connection.close()

    road.say = tell  # type: ignore[method-assign]  # it hears what the road hears
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(make)
        assert is_made.wait(60)
        road.mover().move()
        job_id = making.result()

    assert (job_id, "pending") in live("there")
    assert live("default") == set()
