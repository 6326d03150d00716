"""Calls of unique tasks, and of tasks with flow keys, on queues that are cut into slots on a Redis Cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from celery import Celery

import delayhub
from delayhub import Unique
from delayhub.celery_support.control import Control
from delayhub.celery_support.task_limits import declare, task_limits
from delayhub.engine import DelayQueue, Place
from delayhub.engine.limits import Limit, flying_counts
from delayhub.engine.spread_queue import SpreadQueue
from delayhub.engine.task_name import KEY_MARK, flow_key_of
from delayhub.engine.unique import start
from tests.cluster import LocalCluster

TENANTS = [f"t{number}" for number in range(6)]


@pytest.fixture(params=[False, True], ids=["plain", "compact"])
def shop(cluster: LocalCluster, request: pytest.FixtureRequest) -> Iterator[Celery]:
    """An app whose queue has eight slots."""
    made = Celery("shop", broker=cluster.url, set_as_current=False, fixups=())
    made.conf.broker_transport_options = {"compact": request.param}
    delayhub.install(made)
    control = made.control
    assert isinstance(control, Control)
    control.slots("celery", 8)

    def sync(tenant: str, number: int = 0) -> None:
        del tenant, number

    made.task(sync, name="shop.close", unique=Unique(by=["tenant"]), shared=False)
    made.task(sync, name="shop.latest", unique=Unique(by=["tenant"], when_taken="replace"), shared=False)
    made.task(sync, name="shop.keyed", flow_key_by="tenant", key_max_in_flight=1, shared=False)
    yield made
    made.close()


@pytest.fixture
def parts(shop: Celery) -> Iterator[SpreadQueue]:
    """The engine's own view of the queue."""
    with shop.connection_for_write() as connection:
        found = connection.channel().queue("celery")
        assert isinstance(found, SpreadQueue)
        assert len(found.parts) == 8
        yield found


def slots_of(queue: DelayQueue) -> dict[str, int]:
    """The slot of each message."""
    return {one.id: number for number, part in enumerate(queue.parts) for place in Place for one in part.list(place)}


def test_of_calls_with_one_key_one_is_stored_whatever_their_slots_would_be(shop: Celery, parts: SpreadQueue) -> None:
    close = shop.tasks["shop.close"]

    sent = [close.delay(tenant, number).id for number in range(5) for tenant in TENANTS]

    found = slots_of(parts)
    assert Counter(sent) == dict.fromkeys(found, 5)
    assert len(found) == len(TENANTS)
    assert len(set(found.values())) > 1


def test_a_call_replaces_and_a_person_frees_a_key_in_the_slot_of_the_key(shop: Celery, parts: SpreadQueue) -> None:
    control = shop.control
    assert isinstance(control, Control)
    latest = shop.tasks["shop.latest"]

    sent = [[latest.apply_async([tenant, number], countdown=60).id for number in range(3)] for tenant in TENANTS]

    assert slots_of(parts).keys() == {ids[-1] for ids in sent}
    found = control.unique_keys()["celery"]
    assert [one.id for one in found] == [ids[-1] for ids in sent]  # by name
    assert [control.free_unique_key(one.key) for one in found] == [1] * len(TENANTS)
    assert control.unique_keys() == {}


def test_the_end_of_an_early_acknowledged_task_frees_its_key_in_each_slot(shop: Celery, parts: SpreadQueue) -> None:
    close = shop.tasks["shop.close"]
    sent = [close.delay(tenant).id for tenant in TENANTS]
    held = {part: [part.lease(entry.id, entry.token) for entry in part.claim(10).entries] for part in parts.parts}

    assert sum(start(part, leases) for part, leases in held.items()) == len(TENANTS)
    assert [close.delay(tenant).id for tenant in TENANTS] == sent
    assert sum(part.acknowledge(leases) for part, leases in held.items()) == len(TENANTS)

    assert not set(sent) & {close.delay(tenant).id for tenant in TENANTS}


def test_each_flow_key_keeps_to_its_limit_over_all_slots(shop: Celery, parts: SpreadQueue) -> None:
    keyed = shop.tasks["shop.keyed"]
    for part in parts.parts:
        declare(part, {}, {"shop.keyed" + KEY_MARK: Limit(1)})  # as a worker does for each slot that it asks
    sent = {keyed.delay(tenant, number).id: tenant for number in range(4) for tenant in TENANTS}
    ran: list[str] = []

    for _ in range(4):
        held = [(part, part.claim(100).entries) for part in parts.parts]
        running = [flow_key_of(entry.payload) for _, entries in held for entry in entries]
        assert sorted(map(str, running)) == TENANTS
        assert flying_counts(parts) == {f"shop.keyed{KEY_MARK}{tenant}": 1 for tenant in TENANTS}
        assert not [entry for part in parts.parts for entry in part.claim(100).entries]
        assert parts.count().parked == len(sent) - len(ran) - len(TENANTS)
        ran += [entry.id for _, entries in held for entry in entries]
        for part, entries in held:
            part.acknowledge([part.lease(entry.id, entry.token) for entry in entries])

    assert sorted(ran) == sorted(sent)
    assert sum(parts.count()) == 0
    assert flying_counts(parts) == {}
    assert [(limit.task, limit.at_once, limit.running) for limit in task_limits(parts)] == [("shop.keyed", 1, 0)]
