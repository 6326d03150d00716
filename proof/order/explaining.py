"""Looks for an order that explains a history, as Wing and Gong do: of what may be next, each is tried."""

from __future__ import annotations

from collections.abc import Sequence

from proof.order.event import Event
from proof.order.job import VERBS, Job, by_itself
from proof.shortest import shortest

_OVER = 99

#: How far each event is (its next step, or that it is over), and what its steps have noted.
Progress = tuple[tuple[int, str], ...]


def explained(events: Sequence[Event], *, by: float = float("inf")) -> bool:
    """Whether some order of their steps, one at a time, gives all of these answers.

    What ended before another began comes before it.

    Args:
        events: of one job, which is not there at the beginning.
        by: only what had ended by then must be in the order; the rest may be.
    """
    events = [event for event in events if event.began <= by]
    must = [event.ended <= by for event in events]
    before = [[n for n, other in enumerate(events) if other.ended < event.began] for event in events]
    first: Progress = tuple((0, "") for _ in events)
    seen: set[tuple[Progress, Job]] = set()
    left = [(first, Job())]
    while left:
        node = left.pop()
        if node in seen:
            continue
        seen.add(node)
        progress, job = node
        if all(at == _OVER for (at, _), needed in zip(progress, must, strict=True) if needed):
            return True
        off = by_itself(job)
        if off is not None:
            left.append((progress, off))
        for number, (event, (at, note)) in enumerate(zip(events, progress, strict=True)):
            if at == _OVER or any(progress[n][0] != _OVER for n in before[number]):
                continue
            steps = VERBS[event.asked.verb]
            for after in steps[at](job, event, note):
                over = after.over or at + 1 == len(steps)
                following = (_OVER, "") if over else (at + 1, after.note)
                left.append(((*progress[:number], following, *progress[number + 1 :]), after.job))
    return False


def shortest_story(events: Sequence[Event]) -> list[str]:
    """Of a history that no order explains: its beginning as far as needed, without reads that are not."""
    ends = sorted(event.ended for event in events)
    by = next(end for end in ends if not explained(events, by=end))
    told = [event for event in events if event.began <= by]
    reads = [event for event in told if event.asked.verb == "read"]
    changes = [event for event in told if event.asked.verb != "read"]
    needed = shortest(reads, lambda some: not explained([*changes, *some], by=by))
    if not explained(changes, by=by):
        needed = []
    story = sorted([*changes, *needed], key=lambda event: event.began)
    # A claim may be as old as the history: it begins at 0.
    since = min((event.began for event in story if event.asked.verb != "callback"), default=0.0)
    return [event.told(since=since) for event in story]
