"""A biz type gets another code: what waits fires, what holds it goes on holding it, and the old code is gone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp import jobs
from tasksapp.biz_types import verbs
from tasksapp.biz_types.gates import bring_gates
from tasksapp.errors import UnknownBizType
from tasksapp.maintenance.reconciler import Reconciler
from tasksapp.models import BizType, Job, Status, Tenant
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


def rename(biz_type: BizType, code: str) -> None:
    biz_type.code = code
    verbs.edit(biz_type, {"code"})


def test_jobs_that_wait_fire_under_the_new_code(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, lane: TimerLane
) -> None:
    biz_type = make_biz_type("order.close", url=receiver.url())
    before = jobs.create("order.close").job_id

    rename(biz_type, "order.shut")
    after = jobs.create("order.shut").job_id
    fire()

    assert lane.count("order.shut") == lane.count("order.close") == 0
    assert set(Job.objects.filter(status=Status.SUCCEEDED).values_list("id", flat=True)) == {before, after}
    assert [one.headers["delayhub-biz-type"] for one in receiver.received] == ["order.shut"] * 2


def test_verbs_find_the_timers_of_before(biz_type: BizType, lane: TimerLane) -> None:
    job_id = jobs.create("order.close", delay=60).job_id

    rename(biz_type, "order.shut")
    jobs.cancel(job_id)

    assert lane.count("order.close") == 0


def test_redis_is_in_step_after_it(biz_type: BizType) -> None:
    jobs.create("order.close", delay=60)

    rename(biz_type, "order.shut")

    assert Reconciler(using="default", mend=False).run_once()["order.shut"].is_none


def test_the_old_code_is_refused_at_once(biz_type: BizType) -> None:
    jobs.create("order.close", delay=60)  # it is in the cache now

    rename(biz_type, "order.shut")

    with pytest.raises(UnknownBizType, match=r"there is no biz type 'order\.close'"):
        jobs.create("order.close", delay=60)


def test_a_new_biz_type_of_the_old_code_has_timers_and_a_gate_of_its_own(
    biz_type: BizType, make_biz_type: MakeBizType, lane: TimerLane
) -> None:
    jobs.create("order.close", delay=60)
    rename(biz_type, "order.shut")
    new = make_biz_type("order.close", paused_until=timezone.now() + timedelta(hours=1))
    jobs.create("order.close", delay=60)

    bring_gates([biz_type, new], now=timezone.now())

    assert (lane.count(biz_type.queue), lane.count(new.queue)) == (1, 1)
    shut_until = [lane.client.hget(lane.keys.queue(one.queue).gate, "shut_until") for one in (biz_type, new)]
    assert [int(value or 0) > 0 for value in shut_until] == [False, True]


def test_a_pause_holds_one_tenants_jobs_and_not_the_others(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    mine = make_biz_type("order.close", url=receiver.url())
    theirs = make_biz_type("order.close", url=receiver.url(), tenant=Tenant.objects.create(code="acme"))
    verbs.pause(mine)
    bring_gates([mine, theirs], now=timezone.now())

    held, fired = jobs.create("order.close").job_id, jobs.create("order.close", tenant="acme").job_id
    fire()

    assert dict(Job.objects.values_list("id", "status")) == {held: Status.PENDING, fired: Status.SUCCEEDED}
