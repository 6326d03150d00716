"""The gate of a biz type: how many of its due jobs claims may take now, by its limits, its pause and its breaker."""

from __future__ import annotations

from datetime import datetime

from delayhub.clock import due_ms, moment
from delayhub.engine import Gate
from tasksapp.biz_types.breaker import CLOSED, Breaker
from tasksapp.conf import options
from tasksapp.models import BizType
from tasksapp.timers.ramp import ramp_per_second


def gate_of(biz_type: BizType, *, now: datetime, breaker: Breaker = CLOSED) -> Gate:
    """The gate at that time."""
    rate, burst = biz_type.delivery_rate, biz_type.delivery_burst
    ramp = _ramp_per_second(biz_type, now=now, breaker=breaker)
    shut_until = biz_type.shut_until(now)
    if ramp is not None and (rate is None or ramp < rate):
        # A tenth of a second's worth at once: with a burst of 1, a claim would get one job.
        rate, burst = ramp, max(1, int(ramp / 10))
    gate = Gate(
        rate_per_second=rate,
        burst=burst,
        max_in_flight=biz_type.max_in_flight,
        shut_until_ms=0 if shut_until is None else due_ms(shut_until),
        weight=biz_type.weight,
        key_rate_per_second=biz_type.key_rate,
        key_burst=biz_type.key_burst,
        key_max_in_flight=biz_type.key_max_in_flight,
        bonus_ms=round(options().priority_bonus_seconds * 1000),
    )
    return breaker.restrict(gate)


def _ramp_per_second(biz_type: BizType, *, now: datetime, breaker: Breaker) -> float | None:
    """The rate that the ramp allows; None where the ramp is over, or where nothing held jobs back lately."""
    ends = []
    if breaker.healed_ms is not None:
        ends.append(moment(breaker.healed_ms))
    if biz_type.resumed_at is not None:
        # The clock of the process that resumed it may be ahead of ours; the ramp then begins now.
        ends.append(min(biz_type.resumed_at, now))
    if biz_type.paused_until is not None and biz_type.paused_until <= now:
        ends.append(biz_type.paused_until)
    return ramp_per_second((now - max(ends)).total_seconds()) if ends else None
