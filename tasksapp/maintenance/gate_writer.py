"""GateWriter: brings the gates in Redis in step with the biz types."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from delayhub.clock import Clock, due_ms, moment
from delayhub.engine import Gate
from tasksapp.biz_types.breaker import CLOSED, Breaker, callback_host, read_breakers
from tasksapp.biz_types.gate import gate_of
from tasksapp.models import BizType, PausedKey
from tasksapp.timers.lanes import patient_lane


class GateWriter:
    """Writes gates that differ from what it wrote before.

    Args:
        clock: Redis' time, by which pauses and ramps end.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        #: By lane and queue: the gate as it was written, and of which edit of the biz type.
        self._written: dict[tuple[str, str], tuple[Gate, datetime, str]] = {}
        #: By biz type: its paused flow keys as they were written, and until when.
        self._paused: dict[int, dict[str, int]] = {}

    def run_once(self, biz_types: Sequence[BizType], *, all_of_them: bool = False) -> int:
        """How many gates were written. Raises RedisError.

        Args:
            biz_types: every biz type.
            all_of_them: whether Redis may have lost gates, so that all are written again.
        """
        now, written = moment(self._clock.now_ms()), 0
        breakers = _breakers(biz_types)
        for biz_type in biz_types:
            place = biz_type.timer_lane, biz_type.queue
            # The edit counts too: a breaker of the host before the edit may have shut the gate that is there.
            gate = gate_of(biz_type, now=now, breaker=breakers.get(place, CLOSED))
            current = gate, biz_type.updated_at, callback_host(biz_type)
            if all_of_them or self._written.get(place) != current:
                patient_lane(biz_type.timer_lane).set_gate(biz_type.queue, current[0])
                self._written[place] = current
                written += 1
        self._write_paused(biz_types, now=now, all_of_them=all_of_them)
        return written

    def _write_paused(self, biz_types: Sequence[BizType], *, now: datetime, all_of_them: bool) -> None:
        """Pauses flow keys in Redis as the rows have them, and resumes those whose rows are gone or over."""
        found: dict[int, dict[str, int]] = defaultdict(dict)
        if biz_types:
            rows = PausedKey.objects.using(biz_types[0]._state.db).filter(until__gt=now)
            for biz_type_id, key, until in rows.values_list("biz_type_id", "flow_key", "until"):
                found[biz_type_id][key] = due_ms(until)
        for biz_type in biz_types:
            wanted, had = found[biz_type.pk], self._paused.get(biz_type.pk, {})
            if not wanted and not had:
                continue
            ended: dict[str, int | None] = dict.fromkeys(had.keys() - wanted.keys())
            changed = {key: until for key, until in wanted.items() if all_of_them or had.get(key) != until}
            if ended or changed:
                patient_lane(biz_type.timer_lane).pause_keys(biz_type.queue, {**ended, **changed})
            self._paused[biz_type.pk] = wanted


def _breakers(biz_types: Sequence[BizType]) -> dict[tuple[str, str], Breaker]:
    """By lane and queue: the breakers that are open, or were lately."""
    found: dict[tuple[str, str], Breaker] = {}
    for lane in {biz_type.lane for biz_type in biz_types}:
        here = [biz_type for biz_type in biz_types if biz_type.lane == lane]
        found |= {(lane, queue): breaker for queue, breaker in read_breakers(patient_lane(lane), here).items()}
    return found
