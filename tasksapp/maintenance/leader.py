"""Leader: the seat of the one worker at a time whose loader works, a lease in Redis."""

from __future__ import annotations

from uuid import uuid4

from tasksapp.conf import options
from tasksapp.timers.lanes import patient_lanes


class Leader:
    """Holds the seat, or tries to.

    Args:
        holder: the name that the seat is taken with.
    """

    def __init__(self, *, holder: str = "") -> None:
        self._holder = holder or uuid4().hex

    def hold(self) -> bool:
        """Takes the seat or keeps it for another lease; False where another loader has it. Raises RedisError."""
        return patient_lanes()[0].hold(self._holder, lease_ms=int(options().loader_lease_seconds * 1000))

    def resign(self) -> None:
        """Gives the seat up, so that another loader need not wait for the lease to end. Raises RedisError."""
        lane = patient_lanes()[0]
        if lane.client.get(lane.keys.loader) == self._holder.encode():
            lane.client.delete(lane.keys.loader)
