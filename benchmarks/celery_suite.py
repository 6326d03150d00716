"""Celery's own integration tests on ``delayhub://`` beside ``redis://``: which fail on the one and not on the other.

Question: does what Celery tests of a broker hold for this one?
Machine: whatever runs it; both transports at the same time, each with a server of its own, one worker (prefork).
Command: make bench NAME=celery-suite
Result: a table, the tests that fail anywhere, and one JSON line. The exit code is 1 where a test fails on ``delayhub://``
    that passes on ``redis://`` and is not one of the documented differences (DIFFERENCES below). Some of Celery's tests
    race with their own worker, so a single such test is repeated once, by its name, and the result names it.
    ``--transports redis,delayhub-cluster``: ours is on a cluster of three masters, with results in a server beside it.
    ``--slots 8``: there the queue of the tests is cut into so many slots.
Caveat: Celery runs many of these tests up to six times until they pass; so do we. Its tests come with its source
    distribution, of the version that is installed, which ``pip download`` fetches once into ``var``.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from kombu import Connection

from benchmarks.result import Result, option
from delayhub.local.redis_server import RedisServer
from delayhub.transport import register
from tests.cluster import LocalCluster
from tests.repository import ROOT

#: The queue of Celery's tests.
QUEUE = "celery"
FOLDER = ROOT / "var" / "celery_suite"
TESTS = tuple(f"t/integration/test_{name}.py" for name in ("tasks", "inspect", "canvas", "group_chains"))
TRANSPORTS = ("redis", "delayhub")
DUPLICATED = "test_chord_header_id_duplicated_on_rabbitmq_msg_duplication[redis-group-ids]"
#: Tests that fail on ``delayhub://`` and are to: docs/celery/broker.md names each difference.
DIFFERENCES = {
    "t.integration.test_inspect.test_Inspect::test_scheduled": "what waits is in Redis, not in a worker",
    f"t.integration.test_canvas.test_chain::{DUPLICATED}": (
        "Celery expects it to fail on Redis, which it knows by the URL; JSON cannot carry its message"
    ),
}
PATIENCE_SECONDS = 5400.0
OPTIONS = [
    option("--select", "", "only these tests, as pytest's -k", metavar="EXPRESSION"),
    option("--transports", ",".join(TRANSPORTS), "redis, delayhub, delayhub-cluster"),
    option("--slots", 1, "of the tests' queue, on delayhub-cluster"),
]


class Comparison(NamedTuple):
    """What came of each test, by transport: ``passed``, ``failed`` or ``skipped`` (an expected failure too)."""

    outcomes: dict[str, dict[str, str]]

    def failed(self, transport: str) -> set[str]:
        """The tests that failed on a transport."""
        return {test for test, outcome in self.outcomes[transport].items() if outcome == "failed"}

    def worse(self) -> list[str]:
        """The tests that fail, or did not run, on ``delayhub://`` only, and are not documented differences."""
        theirs, failed = self.outcomes.get("redis", {}), set[str]()
        beside = self.failed("redis") if theirs else set()
        for ours in self.outcomes.keys() - {"redis"}:
            failed |= (self.failed(ours) - beside) | (theirs.keys() - self.outcomes[ours].keys())
        return sorted(failed - DIFFERENCES.keys())

    def report(self) -> str:
        """A table, and the tests that failed anywhere."""
        lines = [f"{'':12}{'passed':>8}{'failed':>8}{'skipped':>9}"]
        for transport, found in self.outcomes.items():
            counts = Counter(found.values())
            lines.append(f"{transport:12}{counts['passed']:8}{counts['failed']:8}{counts['skipped']:9}")
        for test in sorted(set().union(*(self.failed(name) for name in self.outcomes))):
            where = " and ".join(f"{name}://" for name in self.outcomes if test in self.failed(name))
            lines.append(f"fails on {where}: {test}{': ' * (test in DIFFERENCES)}{DIFFERENCES.get(test, '')}")
        return "\n".join(lines)


def outcomes(report: Path) -> dict[str, str]:
    """What came of each test, from pytest's JUnit report; of a test that was run again, the last run counts."""
    found: dict[str, str] = {}
    for case in ET.parse(report).iter("testcase"):
        parts = {part.tag for part in case}
        outcome = "failed" if parts & {"failure", "error"} else "skipped" if "skipped" in parts else "passed"
        test = f"{case.get('classname')}::{case.get('name')}"
        if found.get(test) != "failed":
            found[test] = outcome
    return found


def tests_of_celery() -> Path:
    """The folder with Celery's package of tests, ``t``, of the installed version; fetched once."""
    version = importlib.metadata.version("celery")
    folder = FOLDER / f"celery-{version}"
    if not (folder / "t").is_dir():
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "celery", f"celery=={version}"]
        subprocess.run([sys.executable, *command, "--dest", str(FOLDER)], check=True)
        # Its tests, and not its code: that is the installed one.
        unpack = ["tar", "--extract", "--file", f"celery-{version}.tar.gz", f"celery-{version}/t"]
        subprocess.run(unpack, cwd=FOLDER, check=True)
    return folder


def node_of(test: str) -> str:
    """Return pytest's name of a test in Celery's folder, from its name in a report."""
    place, name = test.split("::", 1)
    root, room, module, *classes = place.split(".")
    return "::".join([f"{root}/{room}/{module}.py", *classes, name])


def repeat_single(comparison: Comparison, again: Callable[[str, str], dict[str, str]]) -> str | None:
    """Run the one test again that is worse, and keep what came of that; return its name.

    Several are no race: they stay as they are.

    Args:
        comparison: what came of all tests.
        again: runs a test of that name on a transport, and gives what came of it.
    """
    worse = comparison.worse()
    if len(worse) != 1:
        return None
    (test,) = worse
    for transport, found in comparison.outcomes.items():
        if transport != "redis" and found.get(test) == "failed":
            found.update(again(transport, test))
    return test


def run(transport: str, folder: Path, select: str, slots: int, tests: Sequence[str] = TESTS) -> dict[str, str]:
    """Runs Celery's tests on a transport, on a server of their own; what came of each."""
    report = FOLDER / f"{transport}.xml"
    report.unlink(missing_ok=True)
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer())
        log = stack.enter_context((FOLDER / f"{transport}.log").open("wb"))
        url = server.url.rsplit("/", 1)[0]
        broker = f"{url.replace('redis', transport, 1)}/1"
        if transport == "delayhub-cluster":
            broker = stack.enter_context(LocalCluster(masters=3)).url
            cut(broker, slots)
        environment = {
            **{name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
            "TEST_BROKER": broker,
            # As Celery's own runs have it: some of its tests read the log, and the backend's keys in database 0.
            "TEST_BACKEND": f"{url}/0",
            "WORKER_LOGLEVEL": "INFO",
            "REDIS_HOST": "127.0.0.1",
            "REDIS_PORT": url.rsplit(":", 1)[1],
            "PYTHONPATH": str(ROOT),
        }
        plugins = ["celery.contrib.pytest", "no:cacheprovider", "no:django", "no:valkey", "no:xdist"]
        plugins += ["benchmarks.celery_suite_plugin"] if transport != "redis" else []
        command = [
            *(sys.executable, "-m", "pytest", "-c", str(Path(__file__).with_suffix(".ini"))),
            *("--rootdir", str(folder), "--junitxml", str(report), "-k", select, "-q", "--tb=short"),
            *(part for plugin in plugins for part in ("-p", plugin)),
            *tests,
        ]
        subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        if transport == "delayhub-cluster" and slots_of(broker) != slots:
            raise RuntimeError(f"the queue of the tests has {slots_of(broker)} slots at the end, not {slots}")
    found = outcomes(report) if report.exists() else {}
    if "passed" not in found.values() and (tests == TESTS or not found):
        raise RuntimeError(f"no test passed on {transport}://; {FOLDER / f'{transport}.log'} says why")
    return found


def cut(broker: str, slots: int) -> None:
    """Cuts the queue of Celery's tests into so many slots, before its worker starts."""
    register()
    with Connection(broker) as connection:
        connection.channel().propose_slots(QUEUE, slots)


def slots_of(broker: str) -> int:
    """How many slots it has."""
    with Connection(broker) as connection:
        return int(connection.channel().slots(QUEUE).number)


def main(options: argparse.Namespace) -> Result:
    transports = options.transports.split(",")
    folder = tests_of_celery()
    print(f"this takes about half an hour; {FOLDER}/*.log show how far it is", file=sys.stderr)
    with ThreadPoolExecutor(len(transports)) as all_at_once:
        results = all_at_once.map(lambda name: run(name, folder, options.select, options.slots), transports)
        found = dict(zip(transports, results, strict=True))
    comparison = Comparison(found)
    repeated = repeat_single(comparison, lambda name, test: run(name, folder, "", options.slots, tests=[node_of(test)]))
    if repeated is not None:
        print(f"repeated once, after it failed on DelayHub only: {repeated}", file=sys.stderr)
    print(comparison.report())
    counts = {transport: Counter(each.values()) for transport, each in found.items()}
    for test in comparison.worse():
        print(f"fails on DelayHub only, and is not documented: {test}", file=sys.stderr)
    return Result({**counts, "repeated": repeated, "worse": comparison.worse()}, not comparison.worse())
