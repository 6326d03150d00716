"""A client of a cluster: each command goes to the node of its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import redis
from redis.client import Redis
from redis.exceptions import MovedError, ResponseError

from delayhub.redis_cluster.cluster_map import Address, key_of
from delayhub.redis_cluster.cluster_pool import ClusterPool, note, slot_of_key
from delayhub.redis_cluster.refusals import REFUSALS, Effort, NotExecuted, said

#: A command and the options by which redis-py reads its reply.
Command = tuple[tuple[Any, ...], dict[str, Any]]


class ClusterClient(redis.Redis):
    """redis-py's client over a cluster's pool.

    A command that a node refused, or that found no node, was not executed: it is sent again for as long as the pool is
    patient. ASKING is never sent. A command without a key goes to the node of the pool's home.

    Args:
        pool: the cluster's.
        patience: another number of seconds than the pool's.
    """

    connection_pool: ClusterPool

    def __init__(self, pool: ClusterPool, *, patience: float | None = None) -> None:
        super().__init__(connection_pool=pool)
        self.patience = pool.patience if patience is None else patience

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """The command's reply.

        Raises:
            redis.RedisError: the node refuses the command for good, or none executed it in time.
        """
        (reply,) = self.together(self.slot_of(args), [(args, options)])
        if isinstance(reply, Exception):
            raise reply
        return reply

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Any:
        """Commands that travel together, one write to each node; each is one by itself, never a transaction."""
        del transaction, shard_hint
        return ClusterPipeline(self)

    def slot_of(self, command: Sequence[Any]) -> int:
        """The slot that a command is for."""
        key = key_of(command)
        return self.connection_pool.home_slot if key is None else slot_of_key(key)

    def together(self, slot: int, commands: Sequence[Command]) -> list[Any]:
        """The replies to commands of one slot, which travel in one write on one connection; errors in their places.

        Those that were not executed are sent again, and with them commands without a key (WAIT).

        Raises:
            redis.ConnectionError: no node executed them in time, or a reply was lost.
            redis.TimeoutError: the same, for a node that was silent.
        """
        pool = self.connection_pool
        replies: list[Any] = [None] * len(commands)
        left = list(range(len(commands)))
        effort = Effort(self.patience)
        while True:
            was_sent = False
            try:
                asked = pool.map.node_of(slot)
                node = pool.node(asked)
                connection: Any = node.get_connection()
                was_sent = True
                got = self._exchange(node, connection, [commands[place] for place in left])
            except (redis.ConnectionError, redis.TimeoutError) as error:
                pool.map.doubt()
                if was_sent and not pool.resends:
                    raise
                trouble: Exception = error
            else:
                for place, reply in zip(left, got, strict=True):
                    replies[place] = reply
                refused = [place for place in left if isinstance(replies[place], REFUSALS)]
                if not refused:
                    return replies
                trouble = self._note(replies[refused[0]], asked)
                left = [place for place in left if place in refused or key_of(commands[place][0]) is None]
                if isinstance(replies[refused[0]], MovedError) and effort.first_move():
                    continue
            if not effort.pause():
                raise trouble

    def apart(self, of_slots: Mapping[int, Sequence[Command]]) -> dict[int, list[Any]]:
        """The replies to commands of several slots: one write to each node; else as :meth:`together`.

        What a node did not answer, or refused, is sent again a slot at a time.
        """
        if len(of_slots) == 1:
            return {slot: self.together(slot, commands) for slot, commands in of_slots.items()}
        found: dict[int, list[Any]] = {}
        of_nodes: dict[Address, list[int]] = {}
        for slot, commands in of_slots.items():
            try:
                of_nodes.setdefault(self.connection_pool.map.node_of(slot), []).append(slot)
            except NotExecuted:
                found[slot] = self.together(slot, commands)
        for asked, slots in of_nodes.items():
            found |= self._of_node(asked, {slot: of_slots[slot] for slot in slots})
        return found

    def _of_node(self, asked: Address, of_slots: Mapping[int, Sequence[Command]]) -> dict[int, list[Any]]:
        pool, was_sent = self.connection_pool, False
        try:
            node = pool.node(asked)
            connection: Any = node.get_connection()
            was_sent = True
            got = iter(self._exchange(node, connection, [each for of_slot in of_slots.values() for each in of_slot]))
        except (redis.ConnectionError, redis.TimeoutError):
            pool.map.doubt()
            if was_sent and not pool.resends:
                raise
            return {slot: self.together(slot, commands) for slot, commands in of_slots.items()}
        found = {slot: [next(got) for _ in commands] for slot, commands in of_slots.items()}
        for slot, commands in of_slots.items():
            refused = [reply for reply in found[slot] if isinstance(reply, REFUSALS)]
            if refused:
                self._note(refused[0], asked)
                left = [
                    number
                    for number, (reply, (args, _)) in enumerate(zip(found[slot], commands, strict=True))
                    if isinstance(reply, REFUSALS) or key_of(args) is None
                ]
                for place, reply in zip(left, self.together(slot, [commands[n] for n in left]), strict=True):
                    found[slot][place] = reply
        return found

    def _note(self, refusal: Exception, asked: Address) -> NotExecuted:
        note(refusal, self.connection_pool.map, asked=asked)
        return NotExecuted(f"{asked} did not execute a command: {said(refusal)}")

    def _exchange(self, node: redis.ConnectionPool, connection: Any, commands: Sequence[Command]) -> list[Any]:
        try:
            connection.send_packed_command(connection.pack_commands([args for args, _ in commands]))
            return [self._reply(connection, args[0], options) for args, options in commands]
        except BaseException:
            connection.disconnect()  # a reply that comes later would be taken for the next command's
            raise
        finally:
            node.release(connection)

    def _reply(self, connection: Any, name: str, options: dict[str, Any]) -> Any:
        try:
            return self.parse_response(connection, name, **options)  # type: ignore[no-untyped-call]  # redis-py
        except (ResponseError, *REFUSALS) as error:
            return error


def client_of(pool: redis.ConnectionPool) -> redis.Redis:
    """The client over a pool: of one server, or of a cluster."""
    return ClusterClient(pool) if isinstance(pool, ClusterPool) else redis.Redis(connection_pool=pool)


def servers_of(client: redis.Redis) -> list[tuple[str, redis.Redis]]:
    """A client of each server that holds data, with its address; '' for the only one."""
    pool = client.connection_pool
    if isinstance(pool, ClusterPool):
        return [(str(address), found) for address, found in pool.masters()]
    return [("", client)]


class ClusterPipeline(Redis):
    """redis-py's commands, kept until :meth:`execute`.

    A command without a key (WAIT, TIME) goes with the command before it; the first, to the pool's home.
    """

    def __init__(self, client: ClusterClient) -> None:
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
