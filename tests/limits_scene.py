"""A queue with limits of each kind, for those who look at its page."""

from __future__ import annotations

from delayhub.celery_support.task_limits import declare, set_at_once_for_all, set_for_all
from delayhub.engine import DelayQueue, Entry
from delayhub.engine.limits import Limit


def hold_back(queue: DelayQueue) -> None:
    """Parks two messages by the rate of their flow key, and one while two run; all others are where they were."""
    rates = {"shop.tasks.report": "10/m", "shop.tasks.report\0": "1/s", "shop.tasks.mail": "5/s"}
    declare(queue, rates, {"shop.tasks.export": Limit(5)})
    set_for_all([queue], "shop.tasks.report", "2/h", by="ada@shop-1")
    _send(queue, "report", count=2, headers=b',"x-delayhub-key":"customer-7"')
    queue.release([queue.lease(entry.id, entry.token) for entry in queue.claim(100, free=0).entries])
    set_at_once_for_all([queue], "shop.tasks.export", 2, by="ada@shop-1")
    _send(queue, "export", count=3)
    claimed = [entry for entry in queue.claim(100, free=4).entries if not entry.id.startswith("export")]
    queue.release([queue.lease(entry.id, entry.token) for entry in claimed])


def _send(queue: DelayQueue, task: str, *, count: int, headers: bytes = b"") -> None:
    payload = b'{"headers":{"task":"shop.tasks.%s"%s,"id":"r"},"properties":{}}' % (task.encode(), headers)
    queue.schedule([Entry(f"{task}{number}", payload=payload) for number in range(count)])
