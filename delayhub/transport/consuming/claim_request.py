"""One claim of a consumer: the commands that make it, and which reply belongs to what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from delayhub.engine import ClaimedQueue, EngineOptions, LaneKeys, Lease, claim_command, timer_claim_command
from delayhub.engine.lane_tag import queue_of_lane
from delayhub.engine.scripts import script
from delayhub.transport.redis_wire import Command
from delayhub.transport.timer_queue import TimerQueue


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What one claim asks for.

    Args:
        queues: the lanes of the queues it asks, in their order: a queue's own, or that of a slot.
        lanes: those of them that it asks for timers too.
        commands: acknowledgements of queues that it does not ask, the claim of messages where it asks any queue, then a
            claim for each lane.
    """

    queues: Sequence[str] = ()
    lanes: Sequence[str] = ()
    commands: Sequence[Command] = ()

    @classmethod
    def of(
        cls,
        queues: Sequence[str],
        *,
        credit: int,
        acknowledged: Iterable[Lease],
        no_ack: Collection[str],
        timer_queues: Mapping[str, TimerQueue],
        keyed_limit: int,
        key_limit: int,
        consumer: str,
        options: EngineOptions,
        free: int | None = None,
    ) -> ClaimRequest:
        """The request for up to ``credit`` messages of these queues.

        Args:
            queues: the lanes of the queues to ask, in their order; without any it only acknowledges.
            credit: how many messages it may bring; with 0 it only acknowledges.
            acknowledged: leases of messages that are done, which travel along.
            no_ack: queues whose messages need no acknowledgement: the claim deletes them.
            timer_queues: the queues that are timer lanes.
            keyed_limit: how many timers of queues with flow keys each lane may bring.
            key_limit: how many of them may be of one flow key.
            consumer: the identity of the consumer, for the alarm of the lane.
            options: the engine's.
            free: how many messages of tasks with a limit it may bring, also beyond the credit, which is its default.
        """
        of_queues: dict[str, list[tuple[str, int]]] = {queue: [] for queue in queues}
        others: dict[tuple[str, str], list[Any]] = {}
        for lease in acknowledged:
            if lease.lane in of_queues and lease.queue in (lease.lane, queue_of_lane(lease.lane)):
                of_queues[lease.lane].append((lease.id, lease.token))
            else:
                others.setdefault((lease.lane, lease.queue), []).extend((lease.id, lease.token))
        commands: list[Command] = []
        for (lane, queue), leases in others.items():
            verb, keys = script("acknowledge"), LaneKeys(lane, options.key_prefix)
            commands.append((verb, verb.command([keys.queue(queue).base, keys.base], leases)))
        if of_queues:
            claimed = []
            for lane, leases in of_queues.items():
                name = queue_of_lane(lane)
                claimed.append(ClaimedQueue(lane, name, name in no_ack, leases))
            claim = claim_command(claimed, limit=credit, consumer=consumer, options=options, free=free)
            commands.append((script("claim"), claim))
        lanes = [queue for queue in queues if queue in timer_queues] if credit else []
        for lane in lanes:
            limit = credit * timer_queues[lane].batch
            command = timer_claim_command(
                lane,
                limit=limit,
                keyed_limit=keyed_limit,
                key_limit=key_limit,
                consumer=consumer,
                options=options,
                needs_gates=timer_queues[lane].needs_gates,
            )
            commands.append((script("claim_timers"), command))
        return cls(queues, lanes, commands)

    def replies(self, replies: Sequence[Any]) -> tuple[Any, list[tuple[str, Any]]]:
        """Of the replies to all commands: that to the claim of messages, and each lane with that to its claim.

        None stands for the claim of messages where no queue was asked.
        """
        if not self.queues:
            return None, []
        messages, *timers = replies[len(self.commands) - 1 - len(self.lanes) :]
        return messages, list(zip(self.lanes, timers, strict=True))
