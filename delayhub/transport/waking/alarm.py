"""Wakes an event loop at a moment, to the microsecond.

The loop's own timers are rounded up to the next millisecond by epoll, which would be half of a task's lateness.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from delayhub.transport.waking.event_loop import EventLoop, LoopTimer

_CLOCK_MONOTONIC = 1


class _Moment(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):
    _fields_ = (("interval", _Moment), ("value", _Moment))


def _library() -> Any:
    """The C library where it has timer descriptors (Linux, 64 bits), else None."""
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_long) < 8:
        return None
    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "timerfd_create") else None


_LIBC = _library()


class TimerDescriptor:
    """A descriptor that becomes readable after some seconds. ``available``: whether this system has them."""

    available = _LIBC is not None

    def __init__(self) -> None:
        self._descriptor: int = _LIBC.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def set(self, seconds: float) -> None:
        """Becomes readable after so long, and not at the moment that was set before."""
        nanoseconds = max(1, int(seconds * 1e9))  # zero would switch it off
        setting = _Setting(_Moment(0, 0), _Moment(*divmod(nanoseconds, 1_000_000_000)))
        if _LIBC.timerfd_settime(self._descriptor, 0, ctypes.byref(setting), None) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def take(self) -> bool:
        """Makes the descriptor unreadable again; False where it was not readable."""
        try:
            os.read(self._descriptor, 8)
        except BlockingIOError:  # it was set to another time after the loop had seen it
            return False
        return True

    def close(self) -> None:
        """Closes the descriptor."""
        os.close(self._descriptor)


class Alarm:
    """Calls back at a moment of the monotonic clock, in the thread of an event loop.

    :meth:`set` says when; :meth:`pull` asks for one more call before that, after which the moment that was set counts.

    Args:
        wake: what is called.
    """

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        #: The moment that was set, and that at which it rings next.
        self._set_to: float | None = None
        self._at: float | None = None
        self._timer = TimerDescriptor() if TimerDescriptor.available else None
        self._hub: EventLoop | None = None
        self._loop_timer: LoopTimer | None = None

    def attach(self, hub: EventLoop) -> None:
        """Takes its event loop; a second time it does nothing."""
        if self._hub is hub:
            return
        self._hub = hub
        if self._timer is not None:
            hub.add_reader(self._timer.fileno(), self._ring)

    def set(self, at: float) -> None:
        """Calls back then, and not at a moment that was set or pulled before."""
        self._set_to = at
        self._ring_at(at)

    def pull(self, at: float) -> None:
        """Calls back then too, where it would call back later or never."""
        if self._at is None or at < self._at:
            self._ring_at(at)

    def close(self) -> None:
        """Never calls back again."""
        if self._loop_timer is not None:
            self._loop_timer.cancel()
        if self._timer is not None:
            if self._hub is not None:
                self._hub.remove(self._timer.fileno())
            self._timer.close()
            self._timer = None
        self._hub = None

    def _ring_at(self, at: float) -> None:
        if self._hub is None or at == self._at:
            return
        self._at = at
        seconds = max(0.0, at - time.monotonic())
        if self._timer is not None:
            self._timer.set(seconds)
            return
        if self._loop_timer is not None:
            self._loop_timer.cancel()
        self._loop_timer = self._hub.call_later(seconds, self._ring)

    def _ring(self) -> None:
        # The loop may have seen a moment that is the alarm's no more. If the moment that is set now were forgotten, the
        # next pull() would put a later one in its place: tasks were up to 10 ms late.
        if self._timer is not None and not self._timer.take():
            return
        rung, self._at = self._at, None
        # A pull for acknowledgements that somebody else sent meanwhile is followed by no claim, which would set the
        # alarm. If the moment that was set were forgotten, the next task would wait up to a second for a claim.
        if rung is not None and self._set_to is not None and self._set_to > rung:
            self._ring_at(self._set_to)
        self._wake()
