"""A Redis master, its replicas and the sentinels that watch them, as processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import redis
from redis.sentinel import Sentinel

from delayhub.local.redis_server import RedisServer, find_redis_server, free_port
from tests.waiting import wait_until

NAME = "clock"
#: After so many milliseconds without an answer a master is down. A machine that stands still for a second loses none.
PATIENT_MS = 60_000


class Sentinels:
    """Three servers and three sentinels; two of the sentinels must agree that the master is down.

    Args:
        folder: where their files go.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.servers: list[RedisServer] = []
        self.ports: list[int] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            quick = {"repl-diskless-sync-delay": 0}
            master = stack.enter_context(RedisServer(config=quick))
            self.servers = [master, *(stack.enter_context(RedisServer(config=quick)) for _ in range(2))]
            for server in self.servers[1:]:
                # By command: Redis 6.2 takes a host and a port on its command line for one word.
                with server.client() as client:
                    client.replicaof("127.0.0.1", master.port)
            for number in range(3):
                self._start_sentinel(stack, number, master.port)
            self._wait_until_agreed()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        """The broker's URL: all sentinels."""
        return ";".join(f"delayhub-sentinel://127.0.0.1:{port}" for port in self.ports)

    @property
    def master(self) -> int:
        """The port of the master that the first sentinel knows."""
        with redis.Redis(port=self.ports[0], decode_responses=True) as sentinel:
            known = sentinel.sentinel_masters()[NAME]  # GET-MASTER-ADDR-BY-NAME fails in redis-py 6.4
            assert known["ip"] == "127.0.0.1"
            return int(known["port"])

    def client(self) -> redis.Redis:
        """A client of the master."""
        return redis.Redis(port=self.master)

    def kill_the_master(self, *, alone_seconds: float = 0.0) -> None:
        """Power cut of the master; returns when there is another.

        Args:
            alone_seconds: for how long its replicas hear nothing of it before: the network went first.
        """
        fallen = self.master
        frozen = self._freeze_the_replicas(fallen) if alone_seconds else []
        time.sleep(alone_seconds)  # clients go on meanwhile
        next(server for server in self.servers if server.port == fallen).kill()
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
        self._give_up_a_master_after(500)
        wait_until(lambda: self._takes_writes() not in (None, fallen))
        self._give_up_a_master_after(PATIENT_MS)

    def _give_up_a_master_after(self, milliseconds: int) -> None:
        for port in self.ports:
            with redis.Redis(port=port) as sentinel:
                sentinel.sentinel_set(NAME, "down-after-milliseconds", milliseconds)

    def _freeze_the_replicas(self, master: int) -> list[int]:
        """Stops the replicas and closes their connections, so that nothing is on its way; their process ids."""
        pids = []
        for server in self.servers:
            if server.port != master and server.pid is not None:
                with server.client() as client:
                    pids.append(int(client.info("server")["process_id"]))
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        with redis.Redis(port=master) as client:
            client.client_kill_filter(_type="replica")
        return pids

    def _takes_writes(self) -> int | None:
        """The port of a master that every sentinel names and that says so itself."""
        found = set()
        try:
            for port in self.ports:
                found.add(Sentinel([("127.0.0.1", port)]).discover_master(NAME)[1])
            (master,) = found
            with redis.Redis(port=master) as client:
                return master if client.info("replication")["role"] == "master" else None
        except (redis.ConnectionError, ValueError):
            return None

    def _follows(self, server: RedisServer) -> bool:
        """Whether a replica has everything and hears of what is new."""
        with server.client() as client:
            return bool(client.info("replication")["master_link_status"] == "up")

    def _start_sentinel(self, stack: ExitStack, number: int, master: int) -> None:
        """Starts a sentinel, on another port if a process has taken the free one meanwhile."""
        while not self._starts_at(port := free_port(), stack, number, master):
            pass
        self.ports.append(port)

    def _starts_at(self, port: int, stack: ExitStack, number: int, master: int) -> bool:
        file = self.folder / f"sentinel-{number}.conf"
        file.write_text(
            f"port {port}\nbind 127.0.0.1\ndir {self.folder}\n"
            f"sentinel monitor {NAME} 127.0.0.1 {master} 2\n"
            f"sentinel down-after-milliseconds {NAME} {PATIENT_MS}\n"
            f"sentinel failover-timeout {NAME} 3000\n"
        )
        with (self.folder / f"sentinel-{number}.log").open("wb") as log:
            process = subprocess.Popen([find_redis_server(), str(file), "--sentinel"], stdout=log, stderr=log)
        stack.callback(process.wait, 10)
        stack.callback(process.kill)

        def answers() -> bool:
            try:
                with redis.Redis(port=port) as client:
                    return bool(client.info("server")["process_id"] == process.pid)
            except redis.ConnectionError:
                return False

        wait_until(lambda: process.poll() is not None or answers())
        return process.returncode is None

    def _wait_until_agreed(self) -> None:
        def agreed() -> bool:
            try:
                for port in self.ports:
                    with redis.Redis(port=port) as client:
                        (state,) = client.sentinel_masters().values()
                        if state["num-slaves"] < 2 or state["num-other-sentinels"] < 2:
                            return False
            except (redis.ConnectionError, ValueError):
                return False
            return self._takes_writes() is not None and all(self._follows(server) for server in self.servers[1:])

        wait_until(agreed)
