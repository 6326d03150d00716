"""One turn of watching, on real rows and a real Redis: what is wrong is found, and its owner's message waits.

It finds what ``site_conditions`` and ``biz_type_conditions`` judge.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from delayhub.clock import due_ms
from delayhub.engine import TimerLane
from tasksapp.alerts.watch import Watch
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.jobs.creation import create
from tasksapp.models import Alert, AlertMessage, BizType, Job, JobCount, OrderedKey, Pulse, Status
from tasksapp.stats.pulses import MINUTE, floor
from tasksapp.timers.lanes import without_redis
from tests.certificates import made
from tests.integration.tasksapp.claiming import claim
from tests.standing_clock import StandingClock

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock() -> StandingClock:
    clock = StandingClock()
    clock.seconds = timezone.now().timestamp()
    return clock


@pytest.fixture
def watch(clock: StandingClock, settings: Any, broker: str) -> Watch:
    settings.DELAYHUB |= {"OWNER_MAIL": ["owner@shop.example"]}
    return Watch(using="default", clock=clock)


@pytest.fixture
def delivers(broker: str, lane: TimerLane) -> None:
    """As if on that broker a worker and its loader had just been at work."""
    lane.hold("a loader", lease_ms=600_000)
    lane.claim()


def told(watch: Watch, clock: StandingClock, *, seconds: int = 12) -> list[str]:
    """What the turns of those seconds tell."""
    found: list[str] = []
    for _ in range(0, seconds + 1, 3):
        found += watch.run_once().told
        clock.seconds += 3
    return found


def told_of_end(watch: Watch, clock: StandingClock, lane: TimerLane, **away: int) -> list[str]:
    """What is told once the client certificate ends so far away."""
    lane.claim()  # or it were said instead that nobody has claimed for long
    BizType.objects.update(certificate_subject="CN=us", certificate_ends_at=timezone.now() + timedelta(**away))
    biz_type_cache.clear()  # PostgreSQL's revision of a row is that of its transaction, and a test has one
    return told(watch, clock)


def count(biz_type: BizType, **numbers: Any) -> None:
    zero = {"pending": 0, "due_now": 0, "running": 0, "dead": 0, "counted_at": timezone.now()}
    JobCount.objects.create(biz_type=biz_type, **{**zero, **numbers})


def test_a_site_without_biz_types_has_nothing_that_is_wrong(watch: Watch, clock: StandingClock) -> None:
    assert told(watch, clock) == []


@pytest.mark.usefixtures("delivers", "biz_type")
def test_nothing_is_told_of_a_site_that_delivers(watch: Watch, clock: StandingClock) -> None:
    assert told(watch, clock) == []
    assert not Alert.objects.exists()


@pytest.mark.usefixtures("biz_type")
def test_missing_workers_are_told(watch: Watch, clock: StandingClock) -> None:
    assert told(watch, clock) == ["began: not_delivering"]
    assert AlertMessage.objects.get().address == "owner@shop.example"


@pytest.mark.usefixtures("biz_type")
def test_a_redis_that_is_away_is_told_and_missing_workers_only_later(watch: Watch, clock: StandingClock) -> None:
    with without_redis():
        assert told(watch, clock) == ["began: redis_away"]

    # It is back, and the workers take some seconds to connect.
    assert told(watch, clock, seconds=30) == ["over: redis_away"]
    assert told(watch, clock, seconds=30) == ["began: not_delivering"]


@pytest.mark.usefixtures("delivers")
def test_an_open_breaker_is_told_at_once(
    watch: Watch, clock: StandingClock, biz_type: BizType, lane: TimerLane
) -> None:
    at = due_ms(timezone.now() + timedelta(seconds=30))
    lane.client.set(lane.keys.queue(biz_type.code).breaker, f"open:{at}:shop.example")

    assert told(watch, clock, seconds=0) == [f"began: breaker_open {biz_type.pk}"]


@pytest.mark.usefixtures("delivers")
def test_who_was_told_of_the_beginning_is_told_of_the_end_beside_another_owner(
    watch: Watch, clock: StandingClock, biz_type: BizType, lane: TimerLane
) -> None:
    at, breaker = due_ms(timezone.now() + timedelta(seconds=30)), lane.keys.queue(biz_type.code).breaker
    lane.client.set(breaker, f"open:{at}:shop.example")
    assert told(watch, clock, seconds=0) == [f"began: breaker_open {biz_type.pk}"]

    BizType.objects.update(owner_mail="ann@team.example")
    lane.client.delete(breaker)

    assert told(watch, clock) == [f"over: breaker_open {biz_type.pk}"]
    ends = [message.address for message in AlertMessage.objects.all() if "Over: " in message.subject]
    assert sorted(ends) == ["ann@team.example", "owner@shop.example"]


@pytest.mark.usefixtures("delivers")
def test_a_thousand_deaths_are_one_message(watch: Watch, clock: StandingClock, biz_type: BizType) -> None:
    count(biz_type, dead=1_000)
    for kind, number in (("timeout", 900), ("http.503", 100)):
        Pulse.objects.create(
            biz_type=biz_type, at=floor(timezone.now(), MINUTE), span_seconds=MINUTE, kind=Pulse.Kind.DEAD, key=kind,
            count=number,
        )  # fmt: skip

    assert told(watch, clock, seconds=30) == [f"began: dead {biz_type.pk}"]

    message = AlertMessage.objects.get()
    assert "jobs die, 1,000 lately. 1,000 dead jobs wait for a person." in message.subject
    assert message.payload["data"]["alerts"][0]["facts"]["errors"] == {"timeout": 900, "http.503": 100}


@pytest.mark.usefixtures("delivers")
@pytest.mark.parametrize(("is_paused", "expected"), [(False, 1), (True, 0)])
def test_overdue_jobs_are_told_unless_a_person_holds_them(
    watch: Watch, clock: StandingClock, biz_type: BizType, is_paused: bool, expected: int
) -> None:
    if is_paused:
        BizType.objects.update(paused_until=timezone.now() + timedelta(hours=1))
    count(biz_type, pending=7, due_now=7, oldest_due_at=timezone.now() - timedelta(seconds=90))

    assert told(watch, clock).count(f"began: overdue {biz_type.pk}") == expected


@pytest.mark.usefixtures("delivers")
def test_blocked_keys_are_one_alert_with_their_number_and_their_jobs_are_not_overdue(
    watch: Watch, clock: StandingClock, biz_type: BizType
) -> None:
    biz_type.ordered = BizType.Ordered.BLOCKS
    biz_type.save()
    ago = timezone.now() - timedelta(minutes=5)
    for key in ("anna", "eva"):
        first, *_ = [create("order.close", flow_key=key, due_at=ago).job_id for _ in "12"]
        claim(first)
        Job.objects.filter(id=first).update(status=Status.DEAD, finished_at=timezone.now())
    OrderedKey.objects.update(begun_at=ago)
    count(biz_type, pending=2, due_now=2, dead=2, oldest_due_at=ago)

    assert told(watch, clock) == [f"began: key_blocked {biz_type.pk}"]
    assert "order.close: flow keys are blocked: 2; longest of all " in AlertMessage.objects.get().subject


@pytest.mark.usefixtures("delivers")
def test_first_jobs_that_nobody_takes_are_overdue(watch: Watch, clock: StandingClock, biz_type: BizType) -> None:
    biz_type.ordered = BizType.Ordered.BLOCKS
    biz_type.save()
    ago = timezone.now() - timedelta(minutes=5)
    create("order.close", flow_key="anna", due_at=ago)
    count(biz_type, pending=1, due_now=1, oldest_due_at=ago)

    assert told(watch, clock) == [f"began: overdue {biz_type.pk}"]


def test_only_who_has_the_seat_watches(watch: Watch, clock: StandingClock, biz_type: BizType) -> None:
    second = Watch(using="default", clock=clock)

    assert watch.run_once().held
    assert not second.run_once().held
    assert told(second, clock) == []

    watch.leave()
    assert second.run_once().held


@pytest.mark.usefixtures("delivers")
def test_a_client_certificate_is_told_of_a_fortnight_before_its_end_and_once_more_when_it_is_over(
    watch: Watch, clock: StandingClock, biz_type: BizType, lane: TimerLane
) -> None:
    def ends(**away: int) -> list[str]:
        return told_of_end(watch, clock, lane, **away)

    assert ends(days=14, minutes=1) == []
    assert ends(days=13, hours=23) == [f"began: certificate_ends {biz_type.pk}"]
    assert "order.close: its client certificate (CN=us) ends at " in AlertMessage.objects.get().subject
    assert f"began: certificate_over {biz_type.pk}" in ends(minutes=-1)
    assert ends(days=90) == [f"over: certificate_over {biz_type.pk}"]
    BizType.objects.update(target=BizType.Target.CELERY)  # nobody is shown it then
    assert ends(days=13) == []


@pytest.mark.usefixtures("delivers")
def test_so_is_the_first_certificate_of_a_bundle_that_ends(
    watch: Watch, clock: StandingClock, biz_type: BizType, lane: TimerLane
) -> None:
    lane.claim()
    BizType.objects.update(ca_bundle=made("new").pem + made("old", days=13).pem)

    assert told(watch, clock) == [f"began: certificate_ends {biz_type.pk}"]
    assert "order.close: the certificate of CN=old in its CA bundle ends at " in AlertMessage.objects.get().subject


@pytest.mark.usefixtures("delivers")
def test_the_next_certificate_that_ends_is_told_when_the_first_is_replaced(
    watch: Watch, clock: StandingClock, biz_type: BizType, lane: TimerLane
) -> None:
    BizType.objects.update(ca_bundle=made("old", days=13).pem)

    assert told_of_end(watch, clock, lane, days=12) == [f"began: certificate_ends {biz_type.pk}"]
    assert told_of_end(watch, clock, lane, days=11) == []  # renewed for as short a time
    assert told_of_end(watch, clock, lane, days=90) == [
        f"over: certificate_ends {biz_type.pk}",
        f"began: certificate_ends {biz_type.pk}",
    ]
    assert "CN=old in its CA bundle ends at " in AlertMessage.objects.latest("id").subject
