"""Messages that replaced another one, and whose publish is tried again since its reply was lost."""

from __future__ import annotations

import pytest

from delayhub.engine import DelayQueue, Entry, Lease
from delayhub.engine.unique import Offered, UniqueKey, Until, WhenTaken, offer

ENDS = ["acknowledged", "replaced", "dead", "moved", "purged"]


def put(queue: DelayQueue, name: str, until: Until) -> Offered:
    """Offers a message that replaces the one with its key."""
    entry = Entry(name, payload=f"<{name}>".encode(), publish_token=f"<{name}>")
    return offer(queue, entry, UniqueKey(key="k", until=until, when_taken=WhenTaken.REPLACE))


def claimed(queue: DelayQueue) -> list[Lease]:
    """The leases of all that a claim gives."""
    return [queue.lease(entry.id, entry.token) for entry in queue.claim(100).entries]


@pytest.mark.parametrize("until", [Until.END, Until.START])
@pytest.mark.parametrize("end", ENDS)
def test_a_second_try_says_again_what_the_first_has_replaced_until_its_message_is_gone(
    queue: DelayQueue, until: Until, end: str
) -> None:
    put(queue, "a", until)
    put(queue, "b", until)

    assert put(queue, "b", until) == ("repeated", "b", "a", b"<a>")

    if end == "replaced":
        put(queue, "c", until)
        assert put(queue, "c", until) == ("repeated", "c", "b", b"<b>")
    if end == "moved":
        assert queue.transfer({"b": (b"<b>", b"<b>")}, to=DelayQueue(queue.client, "other")) == ["moved"]
    if end == "purged":
        queue.purge()
    leases = claimed(queue)
    if end in ("acknowledged", "dead"):
        assert put(queue, "b", until) == ("repeated", "b", "a", b"<a>")
    if end == "dead":
        queue.bury(leases, reason="x")
        queue.discard(["b"])
    queue.acknowledge(leases)
    assert not queue.client.exists(queue.keys.unique)
