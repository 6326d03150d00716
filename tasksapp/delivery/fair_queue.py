"""Where callbacks wait for their turn: caps per process, biz type and host, and a fair order among those that wait."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
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
    """A line of callbacks for each pair of biz type and host; the lines take turns, and in each its flow keys.

    For one thread.

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
        self._lines: OrderedDict[tuple[str, str], KeyedLine] = OrderedDict()
        self._waiting: Counter[str] = Counter()
        #: The same for each flow key of a biz type.
        self._waiting_of_key: defaultdict[str, Counter[str]] = defaultdict(Counter)
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
        most = max(allowed, FEW)
        if waiting >= most:
            most = max(most, int(LONGEST_WAIT_SECONDS * self._rate(target.line)))
            if waiting >= most and not self._has_share(callback, most):
                return False
        self._waiting[target.line] += 1
        self._waiting_of_key[target.line][callback.flow_key] += 1
        place = (target.line, target.host)
        line = self._lines.get(place)
        if line is None:
            line = self._lines[place] = KeyedLine()
        line.put(callback)
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
            callback = line.pop()
            if line:
                self._lines.move_to_end((biz_type, host))
            else:
                del self._lines[biz_type, host]
            self._leave(callback)
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
        for callback in waiting:
            self._leave(callback)
        return waiting

    def _has_share(self, callback: Callback, most: int) -> bool:
        """Whether fewer of its flow key wait than its share of what may: then those of the others hold it up.

        They may be twice as many in all, so that many keys with one callback each do not fill the process.
        """
        keys = self._waiting_of_key[callback.target.line]
        share = most // (len(keys) + (callback.flow_key not in keys))
        return keys[callback.flow_key] < max(share, 1) and self._waiting[callback.target.line] < 2 * most

    def _leave(self, callback: Callback) -> None:
        """Counts a callback as one that does not wait any more."""
        line, key = callback.target.line, callback.flow_key
        self._waiting[line] -= 1
        keys = self._waiting_of_key[line]
        keys[key] -= 1
        if not keys[key]:
            del keys[key]
        if not self._waiting[line]:
            del self._waiting[line], self._waiting_of_key[line]

    def _rate(self, biz_type: str) -> int:
        """How many of the biz type ended in the last full second, or in this one if those are more already."""
        self._turn_second()
        return max(self._done_now[biz_type], self._done_before[biz_type])

    def _turn_second(self) -> None:
        second = int(self._monotonic())
        if second != self._second:
            self._done_before = self._done_now if second == self._second + 1 else Counter()
            self._done_now, self._second = Counter(), second


class KeyedLine:
    """Callbacks to one place that wait, in a line for each flow key.

    Each key gives one callback in turn, so a short line is soon done.
    """

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[Callback]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._lines)

    def __iter__(self) -> Iterator[Callback]:
        return (callback for line in self._lines.values() for callback in line)

    def put(self, callback: Callback) -> None:
        """Lets a callback wait behind those of its key; a key that is new goes last."""
        line = self._lines.get(callback.flow_key)
        if line is None:
            line = self._lines[callback.flow_key] = deque()
        line.append(callback)

    def pop(self) -> Callback:
        """The next callback. Raises KeyError where none waits."""
        key, line = self._lines.popitem(last=False)
        callback = line.popleft()
        if line:
            self._lines[key] = line
        return callback
