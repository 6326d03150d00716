"""Where callbacks wait for their turn: caps per process, biz type and host, and a fair order among those that wait."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tasksapp.delivery.callback import Callback

#: Callbacks of one biz type that may wait, however slow it is, for each one that may be open.
WAITING_PER_OPEN = 2
#: So many of a biz type may wait in any case.
FEW = 10
#: More may wait where their turn comes within this time, if their biz type stays as fast as it was lately.
LONGEST_WAIT_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Caps:
    """How many callbacks may be open at once.

    Args:
        process: of this process.
        biz_type: of one biz type.
        host: to one host.
    """

    process: int = 2_000
    biz_type: int = 1_000
    host: int = 500


class FairQueue:
    """A line of callbacks for each pair of biz type and host; the lines take turns. For one thread.

    Args:
        caps: how many may be open at once.
        monotonic: gives monotonic seconds.
    """

    def __init__(self, caps: Caps, monotonic: Callable[[], float]) -> None:
        self._caps = caps
        self._monotonic = monotonic
        self._second = 0
        self._done_now: Counter[str] = Counter()
        self._done_before: Counter[str] = Counter()
        self._lines: OrderedDict[tuple[str, str], deque[Callback]] = OrderedDict()
        self._waiting: Counter[str] = Counter()
        self._open_of_type: Counter[str] = Counter()
        self._open_of_host: Counter[str] = Counter()
        self._open = 0

    def put(self, callback: Callback) -> bool:
        """Lets a callback wait; False where too many of its biz type wait already and go too slowly."""
        target = callback.target
        waiting = self._waiting[target.line]
        allowed = self._caps.biz_type * WAITING_PER_OPEN
        half = self._caps.process // 2
        if self._waiting.total() >= half:
            # The other half is shared: if a few slow biz types filled it, hand-overs of all others would wait.
            allowed = min(allowed, half // (len(self._waiting) + (not waiting)))
        if waiting >= max(allowed, FEW) and waiting >= LONGEST_WAIT_SECONDS * self._rate(target.line):
            return False
        self._waiting[target.line] += 1
        self._lines.setdefault((target.line, target.host), deque()).append(callback)
        return True

    def take(self) -> Iterator[Callback]:
        """The callbacks that may begin now; each counts as open from here on."""
        stuck = 0
        while self._lines and stuck < len(self._lines) and self._open < self._caps.process:
            (biz_type, host), line = next(iter(self._lines.items()))
            if self._open_of_type[biz_type] >= self._caps.biz_type or self._open_of_host[host] >= self._caps.host:
                stuck += 1
                self._lines.move_to_end((biz_type, host))
                continue
            stuck = 0
            callback = line.popleft()
            if line:
                self._lines.move_to_end((biz_type, host))
            else:
                del self._lines[biz_type, host]
            self._waiting[biz_type] -= 1
            if not self._waiting[biz_type]:
                del self._waiting[biz_type]
            self._open_of_type[biz_type] += 1
            self._open_of_host[host] += 1
            self._open += 1
            yield callback

    def done(self, callback: Callback) -> None:
        """Counts an open callback as ended."""
        self._turn_second()
        self._done_now[callback.target.line] += 1
        self._open_of_type[callback.target.line] -= 1
        self._open_of_host[callback.target.host] -= 1
        self._open -= 1

    def remove(self, biz_type: str | None = None) -> list[Callback]:
        """Takes out the waiting callbacks of a biz type, or all of them, and gives them back."""
        removed = [line for line in self._lines if biz_type in (None, line[0])]
        waiting = [callback for line in removed for callback in self._lines.pop(line)]
        self._waiting.subtract(callback.target.line for callback in waiting)
        self._waiting = +self._waiting
        return waiting

    def _rate(self, biz_type: str) -> int:
        """How many of the biz type ended in the last full second, or in this one if those are more already."""
        self._turn_second()
        return max(self._done_now[biz_type], self._done_before[biz_type])

    def _turn_second(self) -> None:
        second = int(self._monotonic())
        if second != self._second:
            self._done_before = self._done_now if second == self._second + 1 else Counter()
            self._done_now, self._second = Counter(), second
