"""Cluster crew: the crew of one run whose broker is a Redis Cluster of three masters, each with a replica."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from delayhub.engine import DelayQueue, EngineOptions
from delayhub.engine.spread_queue import find_queue
from delayhub.redis_cluster import client_of, cluster_pool
from proof.faults.crew import Crew
from tests.cluster import LocalCluster
from tests.healing import what_was_healed


class ClusterCrew(Crew):
    """One run; see :class:`Crew`."""

    def __init__(self, folder: Path, broker: str, *, seed: int) -> None:
        super().__init__(folder, broker, seed=seed)
        self.cluster = LocalCluster(masters=3, replicas=1)

    def start_servers(self) -> str:
        """The broker's URL."""
        self._ending.enter_context(self.cluster)
        self.client = client_of(cluster_pool(self.cluster.url, timeout_seconds=30))
        return self.cluster.url

    def healed(self) -> int:
        """How much had to be put right."""
        with self.cluster.owner("{celery}").client() as client:
            return sum(sum(what.values()) for what in what_was_healed(client).values())

    @contextlib.contextmanager
    def queue(self) -> Iterator[DelayQueue]:
        """The tasks, as the engine sees them."""
        yield find_queue(self.client, "celery", options=EngineOptions())
