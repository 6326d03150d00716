"""Export slots: few exports are sent at once in a process, and one caller has at most half of them.

An export holds a thread of the web server, and a page of jobs in memory, for as long as its reader takes. Without a
bound, as many slow readers as there are threads would stop the whole server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import RLock

from tasksapp.conf import options
from tasksapp.errors import TooManyExports


class ExportSlots:
    """The slots of one process."""

    def __init__(self) -> None:
        # An answer that is dropped gives its slot back wherever the garbage collector runs, within the lock too.
        self._lock = RLock()
        self._taken: Counter[str] = Counter()

    def take(self, holder: str) -> Callable[[], None]:
        """Take a slot; return what gives it back, which may be called more than once. Raises TooManyExports.

        Args:
            holder: the caller whose share this counts to.
        """
        most = options().exports
        share = max(1, most // 2)
        with self._lock:
            if self._taken.total() >= most:
                raise TooManyExports(most, whose="in this process")
            if self._taken[holder] >= share:
                raise TooManyExports(share, whose="of yours in this process")
            self._taken[holder] += 1
        held = [holder]

        def leave() -> None:
            with self._lock:
                if held:
                    self._taken[held.pop()] -= 1

        return leave


#: Those of this process.
export_slots = ExportSlots()
