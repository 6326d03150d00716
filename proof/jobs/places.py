"""The laws of places: no more callbacks at once than a biz type allows, and each place is somebody's."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING, Any

from proof.broken import Broken
from proof.jobs.rows import Row

if TYPE_CHECKING:
    from proof.jobs.world import World


class PlacesBefore:
    """What a claim of timers finds: queues without a gate, and those that have a limit and no place taken.

    Args:
        world: the history.
    """

    def __init__(self, world: World) -> None:
        queues = {biz_type.queue: world.site.kind(biz_type.pk) for biz_type in world.site.biz_types.values()}
        limited = [queue for queue, kind in queues.items() if kind.at_once is not None]
        self.empty = {queue for queue in limited if world.are_places_known and not _holders(world, queue)}
        self.ungated = set()
        if world.has_forgotten:
            client, keys = world.site.client, world.lane.keys
            self.ungated = {queue for queue in queues if not client.hexists(keys.queue(queue).gate, "revision")}

    def check(self, given: Set[str]) -> Set[str]:
        """Limited queues that had places, of which none was given.

        Args:
            given: queues of which the claim gave timers.

        Raises:
            Broken: one of these has no gate, so that nobody knows its limits.
        """
        if wrong := given & self.ungated:
            raise Broken(f"timers are given, and no gate is there: {', '.join(sorted(wrong))}")
        return self.empty - given


def _holders(world: World, queue: str) -> list[str]:
    found: Any = world.site.client.zrange(world.lane.keys.queue(queue).in_flight, 0, -1)
    return [name.decode() for name in found]


def check_call(world: World, row: Row) -> None:
    """Raises Broken where the job is called beside as many others of its biz type as may be called at once."""
    most = world.kind(row).at_once
    if most is None or not world.are_places_known:
        return
    now = world.clock.monotonic()
    calls = [call for worker in world.workers for call in worker.receiver.open if call.callback.lease_ends > now]
    others = {call.job_id for call in calls if world.rows.by_id[call.job_id].biz_type_id == row.biz_type_id}
    others.discard(row.id)
    if len(others) >= most:
        raise Broken(f"more are called at once than may be: {world.name(row.id)} beside {world.told(others)}")


def check_places(world: World) -> None:
    """Raises Broken where a place is held for a job that neither runs nor has a consumer that holds its timer."""
    if not world.are_places_known:
        return
    for biz_type in world.site.biz_types.values():
        if world.site.kind(biz_type.pk).at_once is None or biz_type.code not in world.setting.kinds:
            continue
        held = _holders(world, biz_type.queue)
        idle = [name for name in held if name not in world.rows.by_id or world.rows.by_id[name].status != "running"]
        leased = dict(zip(idle, world.lane.look(biz_type.queue, idle), strict=True)) if idle else {}
        if left := [name for name, at_ms in leased.items() if at_ms != 0]:
            raise Broken(f"a place is held for nothing: {world.told(left)}")
