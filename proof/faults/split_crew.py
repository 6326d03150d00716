"""Split crew: the crew of one run whose Redis has a replica; each worker comes to it by a proxy of its own.

So a partition can leave one worker with the old master while the replica, which has taken its place, has all others.
"""

from __future__ import annotations

import time
from pathlib import Path

import redis

from delayhub.local.redis_server import RedisServer
from proof.faults.crew import Crew
from tests.tcp_proxy import TcpProxy
from tests.waiting import wait_until

#: How long the old master goes on, and what is published to it meanwhile.
SPLIT_SECONDS, PUBLISHED_TO_EACH = 1.5, 10


class SplitCrew(Crew):
    """One run; see :class:`Crew`."""

    def __init__(self, folder: Path, broker: str, *, seed: int) -> None:
        super().__init__(folder, broker, seed=seed)
        self.replica = RedisServer(data_dir=folder / "replica", config={"repl-diskless-sync-delay": 0})

    def start_servers(self) -> str:
        """The URL that the publisher has, and the second worker."""
        self._ending.enter_context(self.server)
        self.replica.config["replicaof"] = f"127.0.0.1 {self.server.port}"
        self._ending.enter_context(self.replica)
        with self.replica.client() as client:
            wait_until(lambda: client.info("replication")["master_link_status"] == "up")
        self.old, self.proxy = TcpProxy(self.server.port), TcpProxy(self.server.port)
        self._urls = [f"{self.broker}://127.0.0.1:{proxy.port}/0" for proxy in (self.old, self.proxy)]
        return self._urls[1]

    def start_worker(self) -> None:
        """One more worker; the first has a way to the old master of its own."""
        kept, self.url = self.url, self._urls[min(len(self.workers), 1)]
        super().start_worker()
        self.url = kept

    def warm_up(self) -> None:
        """Waits until all workers take tasks."""
        self._ending.enter_context(self.old)  # after the forks, since it has threads
        super().warm_up()

    def split(self) -> None:
        """The replica takes the master's place for all but the first worker, which learns of it late."""
        assert self.proxy is not None
        old = self.server
        with self.replica.client() as client, old.client() as before:
            wait_until(lambda: _offset(client, "slave_repl_offset") >= _offset(before, "master_repl_offset"))
            client.replicaof("NO", "ONE")
        self.may_be_lost |= set(self.publish(PUBLISHED_TO_EACH))  # to the old one, which is not told
        self.proxy.target = self.replica.port
        self.proxy.cut()
        self.server = self.replica
        self.publish(PUBLISHED_TO_EACH)
        time.sleep(SPLIT_SECONDS)
        old.kill()
        self.old.target = self.replica.port
        self.old.cut()


def _offset(client: redis.Redis, name: str) -> int:
    return int(client.info("replication")[name])
