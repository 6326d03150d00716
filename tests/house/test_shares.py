"""However many processes a run has, each test is collected by all processes of one share, and by no others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from xdist.remote import Producer

from tests.long_first import LASTING
from tests.repository import ROOT, text_of
from tests.shares import Shares, is_left_to_others, is_long, share_of, size_of_share

FILES = sorted((ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 5, 6, 8, 12, 16])
def test_each_file_is_collected_by_as_many_processes_as_its_share_has(processes: int) -> None:
    names = [f"gw{number}" for number in range(processes)]
    for path in FILES:
        having = [name for name in names if not is_left_to_others(path, process=name, processes=processes)]

        assert having != []
        assert {size_of_share(name, processes) for name in having} == {len(having)}


def test_most_files_are_of_those_that_compute() -> None:
    waiting = [path for path in FILES if is_long(path)]

    assert len(FILES) > 10 * len([path for path in waiting if "integration" in path.parts])
    assert ROOT / "tests/acceptance/test_kills.py" in waiting
    assert ROOT / "tests/unit/tasksapp/jobs/test_verbs.py" not in waiting


def test_what_lasts_over_modules_keeps_its_tests_together() -> None:
    conftests = [path for path in (ROOT / "tests").rglob("conftest.py") if "] = Lasting(" in text_of(path)]

    for name in LASTING:
        (own,) = [path for path in conftests if f'Lasting("{name}")' in text_of(path)]
        assert f"def {name}(" in text_of(own)
        assert ".end_before(item, nextitem)" in text_of(own)


class Node:
    """A process, as xdist knows it."""


class Run:
    """What xdist has of a run of eight processes."""

    def __init__(self, *, only_failed: bool = False) -> None:
        plugins: dict[str, Any] = {"dsession": self, "session": SimpleNamespace(testscollected=0)}
        self.sched: Shares | None = None
        self.config: Any = SimpleNamespace(
            getvalue=lambda name: ["8*popen"],
            getoption=lambda name, default: only_failed,
            pluginmanager=SimpleNamespace(get_plugin=plugins.get),
        )

    def start(self, name: str) -> Any:
        """The process before it has begun."""
        node: Any = Node()
        node.config, node.gateway = self.config, SimpleNamespace(id=name)
        node.nodemanager, node.shutting_down = SimpleNamespace(specs=range(8)), False
        node.send_runtest_some, node.shutdown = (lambda indices: None), (lambda: None)
        node.workerinput = {"share_of": share_of(node)}
        return node


def test_a_process_in_the_place_of_one_that_died_has_its_tests() -> None:
    run = Run()
    first = [run.start(f"gw{number}") for number in range(8)]
    run.sched = shares = Shares(run.config, Producer("xdist", enabled=False), 8)
    for node in first:
        shares.add_node(node)

    shares.remove_node(first[1])  # one of those that wait, before it has collected
    second = run.start("gw8")
    shares.add_node(second)
    shares.remove_node(second)
    third = run.start("gw9")
    shares.add_node(third)
    shares.remove_node(first[7])
    for node in (first[0], *first[2:5], third):
        shares.add_node_collection(node, ["a", "b"])

    assert [node.workerinput["share_of"] for node in (first[0], second, third)] == ["gw0", "gw1", "gw1"]
    assert run.start("gw10").workerinput["share_of"] == "gw7"
    assert shares.has_pending, "the tests that wait have begun"


def test_with_last_failed_each_process_has_all_tests() -> None:
    assert Run(only_failed=True).start("gw0").workerinput["share_of"] == ""
    assert size_of_share("", 8) == 8
