"""The types of what fixtures give: for the annotations of tests that ask for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from delayhub.engine import DelayQueue
from tasksapp.models import BizType

#: ``ask(method, path, body=None, **headers)`` asks the REST API and gives the response.
Ask = Callable[..., Any]

#: ``fire()`` delivers what is due, waits for the outcomes and gives the ids.
Fire = Callable[[], list[str]]

#: ``lose_timers()`` takes the timers away but nothing else, as a stale replica would.
LoseTimers = Callable[[], None]

#: ``make_biz_type(code, **fields)`` stores a biz type and gives it.
MakeBizType = Callable[..., BizType]

#: ``now_ms()`` gives Redis' time in whole ms.
Now = Callable[[], int]

#: ``stored(name)`` gives the engine's own view of a broker's queue.
Stored = Callable[[str], DelayQueue]

#: ``until(moment_ms)`` returns once Redis' clock has reached that time.
Until = Callable[[int], None]
