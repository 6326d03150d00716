"""What histories of a run share: a database, a Redis, biz types, clocks and the wire. No thread of the product runs."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connections
from django.test import override_settings

from delayhub.clock import moment
from proof.jobs.clocks import Clocks
from proof.jobs.kinds import KINDS, LEASE_SECONDS, MOST_LOST, Kind
from proof.jobs.wire import Wire
from proof.quick_redis import QuickRedis
from proof.snapshot import Snapshot, go_back, snapshot
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.gates import bring_gates
from tasksapp.models import (
    Attempt,
    AuditEntry,
    BizType,
    IdempotencyKey,
    Job,
    LoaderReport,
    Operation,
    OrderedKey,
    Pulse,
    Tombstone,
)
from tasksapp.stats.pulse_recorder import pulse_recorder
from tasksapp.timers import lanes
from tasksapp.timers.slots import held_slots

USING = "default"
#: Jobs that are due later have no timer yet.
WINDOW_SECONDS = 600.0
#: What a history begins without.
_EMPTIED = (Attempt, Job, OrderedKey, Tombstone, IdempotencyKey, Operation, Pulse, LoaderReport, AuditEntry)


@dataclass
class Site:
    """What histories of a run share.

    Args:
        client: of the run's own Redis server.
        clocks: the product's clocks.
        wire: between the product and what it asks.
        loop: the event loop of all dispatchers, which goes on when it is told to.
        biz_types: by id, the kinds of the biz types.
    """

    client: QuickRedis
    clocks: Clocks
    wire: Wire
    loop: asyncio.AbstractEventLoop
    biz_types: dict[int, BizType]
    #: All gates, as Redis has them before anything else; made with the first history.
    _gates: Snapshot | None = None

    def kind(self, biz_type_id: int) -> Kind:
        """The kind of a biz type."""
        return KINDS[self.biz_types[biz_type_id].code]

    def biz_type(self, kind: Kind) -> BizType:
        """The biz type of a kind."""
        return next(each for each in self.biz_types.values() if each.code == kind.code)

    def begin(self) -> None:
        """Nothing is left of the history before."""
        self.client.flushall()
        connection = connections[USING]
        with connection.cursor() as cursor:
            for model in _EMPTIED:
                cursor.execute(f"DELETE FROM {model._meta.db_table}")
            cursor.execute(
                "UPDATE delayhub_biz_type SET has_tombstones = %s, paused_until = NULL, resumed_at = NULL", [False]
            )
        forget()

    def open_gates(self) -> None:
        """Writes the gates of all biz types, as a loader has done it long ago."""
        if self._gates is None:
            bring_gates(list(self.biz_types.values()), now=moment(self.clocks.now_ms))
            self._gates = snapshot(self.client)
        else:
            go_back(self.client, self._gates)

    def go_on(self) -> None:
        """Lets the dispatchers do all that they can do now."""
        self.loop.run_until_complete(_turns())


async def _turns() -> None:
    # A callback that ends is reported two turns later, and another may begin with it.
    for _ in range(8):
        await asyncio.sleep(0)


def forget() -> None:
    """What a process that crashes knows no more. Those of a history share these, so that one's crash is all others'."""
    biz_type_cache.clear()
    pulse_recorder.forget()
    lanes.try_again()
    held_slots.forget()
    # Slots that could not be freed are freed again by a thread of the process; here a worker's turn does it.
    held_slots._thread = threading.current_thread()


@contextmanager
def site(client: QuickRedis, url: str) -> Iterator[Site]:
    """A site on a database that is there, and on the Redis server of that URL.

    Args:
        client: of that server; the scripts read the run's clock.
        url: its address.
    """
    given: dict[str, Any] = {
        "REDIS_URL": url,
        "ARM_TIMEOUT_SECONDS": 5.0,
        "NEAR_WINDOW_SECONDS": WINDOW_SECONDS,
        "LEASE_SECONDS": LEASE_SECONDS,
        "MAX_SYSTEM_ERRORS": MOST_LOST,
        "BREAKER_FAILURES": 100_000,
    }
    clocks, wire = Clocks(), Wire(USING, client)
    loop = asyncio.new_event_loop()
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with override_settings(DELAYHUB=given), clocks.shown(), wire.tapped():
            forget()
            biz_types = [kind.stored() for kind in KINDS.values()]
            yield Site(client, clocks, wire, loop, {each.pk: each for each in biz_types})
            for reached in lanes._by_app.values():
                for used in reached.clients.values():
                    used.connection_pool.disconnect()
    finally:
        logging.disable(disabled)
        loop.close()
        forget()
        held_slots._thread = None


def is_resting() -> bool:
    """Whether this process makes no call of Redis, since one failed."""
    return lanes._clock.monotonic() < lanes._rest.until
