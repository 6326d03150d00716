"""The figures of a run: what was asked for, beside what was seen of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any


def figures(
    due: Mapping[int, float],
    ran: Iterable[tuple[int, float]],
    *,
    cancelled: Mapping[int, float],
    left: int,
    restarted: int,
    healed: int | None,
    may_be_lost: Collection[int] = (),
) -> dict[str, Any]:
    """What a line of the kept runs has.

    Args:
        due: when each item that is to run is due, by its number; Unix seconds, as all times here.
        ran: number and time of each run.
        cancelled: when a cancel was confirmed, by number.
        left: how many items are still to run, when the patience is over.
        restarted: how many processes ended by themselves.
        healed: what had to be put right; None where nothing counts that.
        may_be_lost: the numbers of those whose loss breaks no promise; ``lost_promised`` counts the others.
    """
    runs: dict[int, list[float]] = {}
    for number, at in ran:
        runs.setdefault(number, []).append(at)
    missing = len(due.keys() - runs.keys())
    promised = len(due.keys() - runs.keys() - set(may_be_lost))
    late = [min(runs[number]) - moment for number, moment in due.items() if number in runs]
    return {
        "items": len(due),
        "lost": max(0, missing - left),
        "lost_promised": max(0, promised - left),
        "twice": sum(len(at) - 1 for at in runs.values()),
        "early": sum(min(at) < due.get(number, 0.0) for number, at in runs.items()),
        "cancelled": len(cancelled),
        "after_cancel": sum(max(runs.get(number, [0.0])) > at for number, at in cancelled.items()),
        "stuck": min(missing, left),
        "restarted": restarted,
        "healed": healed,
        "worst_s": round(max(late, default=0.0), 2),
    }
