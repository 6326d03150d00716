"""How much a queue holds, whether it is a queue of messages or a timer lane."""

from __future__ import annotations

from delayhub.engine import Counts, TimerLane
from delayhub.transport.channel import Channel


def count_queue(channel: Channel, name: str) -> Counts:
    """How many messages of the queue are where; of a timer lane, how many timers: those that are due are ready."""
    counts = channel.count(name)
    if any(counts):
        return counts
    # Only a timer lane has timers, whether or not it was declared on this connection.
    return TimerLane(channel.publisher, name, options=channel.options.engine()).counts()
