"""The Celery app that the chaos run torments: a task that writes down that it ran, and a producer of such tasks."""

from __future__ import annotations

import os
import sys
import uuid
from pathlib import Path

from celery.exceptions import OperationalError

from benchmarks.processes import append_line
from benchmarks.shop import shop
from delayhub.engine import SystemClock
from delayhub.errors import NotReplicated

FOLDER = Path(os.environ["SHOP_FOLDER"])
CLOCK = SystemClock()
QUEUES = os.environ["CHAOS_QUEUES"].split(",")
LONGEST_COUNTDOWN_MS = int(os.environ["CHAOS_COUNTDOWN_MS"])

app = shop("chaos", worker_cancel_long_running_tasks_on_connection_loss=False)


@app.task(name="chaos.mark")  # the producer's module is __main__, which would be part of the name
def mark(number: str, due_ms: int) -> None:
    """Writes down that it ran, and when."""
    append_line(FOLDER / "ran", number, due_ms, CLOCK.now_ms())


def produce(count: int) -> None:
    """Publishes until the file ``published`` has so many lines: every other task at once, the others later.

    A number is written down once the broker has said yes; where it said nothing, the task may or may not run.
    """
    published = FOLDER / "published"
    published.touch()
    so_far = published.read_text().count("\n")
    while so_far < count:
        number = uuid.uuid4().hex
        wait_ms = 0 if so_far % 2 else 1 + int(number[:8], 16) % LONGEST_COUNTDOWN_MS
        due_ms = CLOCK.now_ms() + wait_ms
        try:
            queue = QUEUES[so_far // 2 % len(QUEUES)]
            began = CLOCK.monotonic()
            mark.apply_async([number, due_ms], countdown=wait_ms / 1000 or None, retry=False, queue=queue)
        except (OperationalError, NotReplicated):
            continue
        append_line(published, number)
        append_line(FOLDER / "took", f"{(CLOCK.monotonic() - began) * 1000:.0f}")
        so_far += 1


if __name__ == "__main__":
    produce(int(sys.argv[1]))
