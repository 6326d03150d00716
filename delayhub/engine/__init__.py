"""The engine: entries that wait in Redis until they are due. It knows Redis and nothing else.

:class:`DelayQueue` keeps messages, :class:`TimerLane` keeps timers for rows in a database. Every verb is one Lua
script (``lua/``), every key is in :mod:`delayhub.engine.keys`.
"""

from __future__ import annotations

from delayhub.clock import Clock, SystemClock, due_ms
from delayhub.extras import not_installed

try:
    from delayhub.engine.claim import Claim, ClaimedQueue, QueueClaim, claim_command, parse_claim
except ModuleNotFoundError as error:
    raise not_installed(error, extra="celery") from None
from delayhub.engine.delay_queue import DelayQueue
from delayhub.engine.entry import Claimed, Counts, Entry, Lease, Listed, Mode, Place, Reaped, Scheduled
from delayhub.engine.gate import Gate, Revision
from delayhub.engine.keys import LaneKeys, QueueKeys
from delayhub.engine.options import EngineOptions
from delayhub.engine.stored_gate import StoredGate, read_gates
from delayhub.engine.timer_claim import TimerBatch, TimerClaim, parse_timer_claim, timer_claim_command
from delayhub.engine.timer_lane import Admitted, KeyCounts, TimerCounts, TimerLane
