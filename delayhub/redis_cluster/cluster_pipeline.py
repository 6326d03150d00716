"""Commands that travel together to a cluster, in one write to each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

from redis.client import Redis

from delayhub.redis_cluster.cluster_map import key_of


class Sender(Protocol):
    """What a pipeline needs of its client."""

    response_callbacks: Any

    def slot_of(self, command: Sequence[Any]) -> int:
        """The slot that a command is for."""

    def apart(self, of_slots: Mapping[int, Sequence[tuple[tuple[Any, ...], dict[str, Any]]]]) -> dict[int, list[Any]]:
        """The replies to commands, by slot."""


class ClusterPipeline(Redis):
    """redis-py's commands, kept until :meth:`execute`.

    A command without a key (WAIT, TIME) goes with the command before it; the first, to the pool's home.
    """

    def __init__(self, client: Sender) -> None:
        self.sender = client
        self.kept: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kept = []

    def __len__(self) -> int:
        return len(self.kept)

    def __bool__(self) -> bool:
        return True

    def __del__(self) -> None:
        """Nothing is to be closed; redis-py's client closes its connections here."""

    def execute_command(self, *args: Any, **options: Any) -> Self:
        """Keeps the command."""
        self.kept.append((args, options))
        return self

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """The replies, in the order of the commands.

        Raises:
            redis.RedisError: a command failed; with ``raise_on_error=False`` its error stands in its place.
        """
        kept, self.kept = self.kept, []
        places: dict[int, list[int]] = {}
        slot: int | None = None
        for place, (args, _) in enumerate(kept):
            if slot is None or key_of(args) is not None:
                slot = self.sender.slot_of(args)
            places.setdefault(slot, []).append(place)
        replies: list[Any] = [None] * len(kept)
        found = self.sender.apart({slot: [kept[n] for n in of_slot] for slot, of_slot in places.items()})
        for slot, of_slot in places.items():
            for place, reply in zip(of_slot, found[slot], strict=True):
                replies[place] = reply
        if raise_on_error:
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
        return replies
