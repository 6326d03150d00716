"""Which tests each process of a run has: some have those that wait, for sites, browsers and workers; some all others.

A process collects its own tests alone: to collect all of them costs it seven seconds of a core. And from the beginning
to the end there are tests that compute while others wait. Within its share a process takes tests from others, as xdist
has it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import WorkStealingScheduling

from tests.long_first import LONG_ROOMS
from tests.repository import ROOT

#: Fewer processes have all tests each.
FEWEST_PROCESSES = 4
#: Of eight processes three have the tests that compute: one more than cores.
QUICK = 3 / 8
#: What a file says that has tests which start something for all of its tests, or take seconds.
_WAITS = re.compile(r'scope="module"|mark\.slow|\bport: int\b')


@cache
def is_long(path: Path) -> bool:
    """Whether the tests of a file are among those that wait."""
    return str(path.relative_to(ROOT)).startswith(LONG_ROOMS) or _WAITS.search(path.read_text()) is not None


def share_of(node: Any) -> str:
    """By the name of a process, which tests one has that is started now: its own, or those of one that died before it.

    '' for all tests: where processes are few; and with ``--lf``, by which a share without failed tests would run all
    of its own.
    """
    processes = len(node.nodemanager.specs)
    if not has_shares(node.config, processes):
        return ""
    scheduler = node.config.pluginmanager.get_plugin("dsession").sched
    return str(node.gateway.id if scheduler is None else scheduler.died)


def has_shares(config: pytest.Config, processes: int) -> bool:
    """Whether the processes of a run have a part of the tests each."""
    return processes >= FEWEST_PROCESSES and not config.getoption("lf", False)


def has_long_tests(process: str, processes: int) -> bool:
    """Whether a process of that name, ``gw0`` and so on, has the tests that wait; the first ones do."""
    return int(process.removeprefix("gw")) < processes - round(processes * QUICK)


def is_left_to_others(path: Path, *, process: str, processes: int) -> bool:
    """Whether a file's tests are for processes of the other share."""
    return processes >= FEWEST_PROCESSES and is_long(path) != has_long_tests(process, processes)


def size_of_share(process: str, processes: int) -> int:
    """How many processes have the tests that this one has; the process is '' where each has all."""
    if process == "" or processes < FEWEST_PROCESSES:
        return processes
    quick = round(processes * QUICK)
    return processes - quick if has_long_tests(process, processes) else quick


class Shares:
    """What xdist asks of a scheduler: it hands each question on to that of the node's share.

    Args:
        config: pytest's.
        log: xdist's.
        processes: how many there are.
    """

    def __init__(self, config: pytest.Config, log: Any, processes: int) -> None:
        self.config, self._processes = config, processes
        #: The process that ended last: where it died, the one that xdist starts in its place has its share.
        self.died = ""
        quick = round(processes * QUICK)
        self._long, self._quick = (WorkStealingScheduling(config, log) for _ in range(2))
        self._long.numnodes, self._quick.numnodes = processes - quick, quick

    @property
    def nodes(self) -> list[Any]:
        return [*self._long.nodes, *self._quick.nodes]

    @property
    def collection_is_completed(self) -> bool:
        return self._long.collection_is_completed and self._quick.collection_is_completed

    @property
    def tests_finished(self) -> bool:
        return self._long.tests_finished and self._quick.tests_finished

    @property
    def has_pending(self) -> bool:
        return self._long.has_pending or self._quick.has_pending

    def add_node(self, node: Any) -> None:
        self._of(node).add_node(node)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """A share begins once its own processes have collected, whatever the others do."""
        share = self._of(node)
        share.add_node_collection(node, collection)
        found = [next(iter(each.node2collection.values()), []) for each in (self._long, self._quick)]
        session: Any = self.config.pluginmanager.get_plugin("session")
        session.testscollected = sum(map(len, found))  # xdist takes what one process has for all there are
        if share.collection_is_completed:
            share.schedule()

    def schedule(self) -> None:
        """Nothing is left to do: each share has begun by itself."""

    def mark_test_complete(self, node: Any, item_index: int, duration: float | None = None) -> None:
        self._of(node).mark_test_complete(node, item_index, duration)

    def mark_test_pending(self, item: str) -> None:
        share = self._long if item in (self._long.collection or ()) else self._quick
        share.mark_test_pending(item)

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        self._of(node).remove_pending_tests_from_node(node, indices)

    def remove_node(self, node: Any) -> str | None:
        self.died = node.workerinput["share_of"]
        return self._of(node).remove_node(node)

    def _of(self, node: Any) -> WorkStealingScheduling:
        return self._long if has_long_tests(node.workerinput["share_of"], self._processes) else self._quick
