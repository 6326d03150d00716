"""Mistakes of timers above the scripts: who arms, moves and loads them."""

from __future__ import annotations

from proof.code_mutant import CodeMutant

_ARMING = "tasksapp.timers.arming"
_LOADER = "tasksapp.maintenance.loader"
_TIMER_LOSS = "tasksapp.maintenance.timer_loss"
_PENDING_ROWS = "tasksapp.sql.pending_rows"

TIMERS = (
    CodeMutant(
        "a timer is armed late",
        _ARMING,
        "    end = due_ms(window_end())\n    near =",
        "    end = due_ms(window_end()) - 700_000\n    near =",
    ),
    CodeMutant(
        "a moved timer is left where it was",
        _ARMING,
        "            brisk_lane(lane).put(queue, group,",
        "            brisk_lane(lane).ensure(queue, group) if True else brisk_lane(lane).put(queue, group,",
    ),
    CodeMutant(
        "a timer beyond the window stays",
        _ARMING,
        "        for (lane, queue, _, key), group in far.items():",
        "        for (lane, queue, _, key), group in {}.items():",
        theme="asking",
    ),
    CodeMutant(
        "the loader skips what entered the window",
        _LOADER,
        "            entered = self._load(awake, after=self._loaded_until, until=until)",
        "            entered = 0",
    ),
    CodeMutant(
        "the loader skips what is overdue",
        _LOADER,
        "overdue = self._arm_overdue([each",
        "overdue = (lambda *_, **__: 0)([each",
    ),
    CodeMutant(
        "the loader loads nothing after a loss",
        _LOADER,
        "entered, overdue = self._load(biz_types, after=None, until=until), 0",
        "entered, overdue = 0, 0",
    ),
    CodeMutant(
        "the loader returns no lost leases",
        _LOADER,
        "        returned = self._lost_leases.run_once()",
        "        returned = 0",
    ),
    CodeMutant(
        "the loader notices no loss",
        _TIMER_LOSS,
        "return self._seen != self._confirmed or (",
        "return (",
        theme="loading",
    ),
    CodeMutant(
        "the window ends a minute late",
        _LOADER,
        "            begin = after if after is None or biz_type.id in self._open else now - OVERDUE",
        "            begin = after and after + timedelta(minutes=1)",
    ),
    CodeMutant(
        "the loader brings timers of jobs that run",
        _PENDING_ROWS,
        "filter(biz_type_id=biz_type_id, status=Transition.CLAIM.source)",
        "filter(biz_type_id=biz_type_id, status__in=('pending', 'running'))",
        theme="loading",
    ),
    CodeMutant(
        "the loader leaves slots that leaked",
        _LOADER,
        "        self._slot_sweep.run_once(biz_types)",
        "        pass",
        theme="wires",
    ),
)
