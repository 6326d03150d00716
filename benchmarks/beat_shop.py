"""The Celery app whose beats the chaos run kills: entries that occur each second or so, and nothing that runs them."""

from __future__ import annotations

from benchmarks.shop import shop
from delayhub.beat import shared_ticks

#: Entries of the run: how often each occurs, in seconds, and its queue.
ENTRIES = {"a": (1.0, "ticks"), "b": (1.0, "ticks"), "c": (2.5, "ticks"), "d": (1.0, "others"), "e": (7.0, "others")}

app = shop(
    "beats",
    result_expires=None,
    beat_schedule={
        name: {"task": "tick", "schedule": seconds, "args": [name], "options": {"queue": queue}}
        for name, (seconds, queue) in ENTRIES.items()
    },
)
# The clock jumps, and beats are to see it soon.
app.conf.beat_max_loop_interval = 0.05
shared_ticks.LOOK_MS = 50
