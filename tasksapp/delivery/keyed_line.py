"""KeyedLine: callbacks to one place that wait, by their flow keys, which take turns."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator

from tasksapp.delivery.callback import Callback


class KeyedLine:
    """A line of callbacks for each flow key. Each key gives one callback in turn, so a short line is soon done."""

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
