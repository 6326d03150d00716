"""A queue with unique keys of each kind, for those who look at their page."""

from __future__ import annotations

from delayhub.engine import DelayQueue, Entry
from delayhub.engine.unique import UniqueKey, Until, WhenTaken, offer

FAR_MS = 4_000_000_000_000


def take_keys(queue: DelayQueue) -> None:
    """Messages that wait for a far time, or in vain for a key, with keys that are short, long, and odd."""
    _put(queue, "1f6c2d1e-7f0a-4f4e-9d58-0c5a8a3f1b01", "shop.tasks.close(order=90007)")
    for number in range(3):
        _put(queue, f"1f6c2d1e-7f0a-4f4e-9d58-0c5a8a3f1b{number + 10}", "shop.tasks.close(order=90007)")
    _put(queue, "b2a7-start", "shop.tasks.report(customer=王小明)", until=Until.START)
    _put(queue, "b2a7-long", "shop.tasks.export(" + "a-very-long-name" * 14 + ")")
    _put(queue, "b2a7-odd", "<b>bold</b>\nand\u202eback")
    _put(queue, "b2a7-timed", "mail:ada@shop.example", until=Until.TIME, milliseconds=600_000)


def _put(queue: DelayQueue, name: str, key: str, **of_key: object) -> None:
    payload = b'{"headers":{"task":"shop.tasks.close","id":"%s"},"properties":{}}' % name.encode()
    options = {"when_taken": WhenTaken.WAIT, **of_key}
    offer(queue, Entry(name, FAR_MS, payload), UniqueKey(key=key, **options))  # type: ignore[arg-type]  # as above
