"""A tiny run of each benchmark and chaos run of the Makefile, so that they work when they are needed.

Those of the transport and of a cluster are a part of ``make test``, since they kill whatever there is. The others run
at night; by day each promise has a test of its own room, that of jobs ``test_kills.py``, and that of a master's fall
``test_transport_sentinel.py``. ``test_benchmarks_help.py`` imports all.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.own_postgres import OwnPostgres
from tests.repository import ROOT

#: Below what pytest gives a test.
DEADLINE_SECONDS = 270


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A PostgreSQL server that benchmarks share: the first of them makes the tables, the others only empty them."""
    with closing(OwnPostgres()) as server:
        yield server.url


def figures(*command: str, database: str = "", must_succeed: bool = True) -> dict[str, Any]:
    """The JSON line with which a run ends, by its kind and name; it starts a database of its own if given none."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.run", *command],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        try:
            said, complaints = run.communicate(timeout=DEADLINE_SECONDS)
        finally:
            run.terminate()  # which ends its children, too
    assert run.returncode == 0 or not must_succeed, said + complaints
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


@pytest.mark.nightly  # by day: test_lost_task.py, test_lost_child.py
@pytest.mark.slow
def test_nothing_is_lost_in_a_little_chaos() -> None:
    little = ("--tasks=300", "--countdown=4", "--kills=4", "--restarts=1")
    kills = figures("chaos", "transport", "--only=kills", *little)["kills"]

    assert kills["tasks"] >= 300
    assert kills["lost"] == kills["dead"] == kills["still there"] == 0
    assert kills["worker killed"] == 3
    others = ["Redis killed", "connections cut", "connections slowed", "connections half-open", "scripts flushed"]
    assert [kills[deed] for deed in others] == [1] * 5


@pytest.mark.nightly
def test_nothing_is_lost_when_the_master_falls_and_publishers_waited_for_a_replica() -> None:
    found = figures("chaos", "transport", "--tasks=400", "--countdown=4", "--only", "failover", "failover, WAIT")

    assert found["failover"]["master fell"] == found["failover, WAIT"]["master fell"] == 1
    assert found["failover, WAIT"]["lost"] == 0


@pytest.mark.slow
def test_nothing_is_lost_while_masters_of_a_cluster_fall_and_slots_move() -> None:
    found = figures("chaos", "cluster", "--tasks=200", "--countdown=3", "--only=tasks, WAIT")

    safe = found["tasks, WAIT"]
    assert (safe["tasks"], safe["lost"], safe["dead"], safe["still there"]) == (200, 0, 0, 0)
    assert (safe["slot moved by keys"], safe["node added"], safe["master killed"]) == (1, 1, 2)


@pytest.mark.nightly
def test_each_occurrence_of_a_little_chaos_happens_once_at_its_moment(database: str) -> None:
    # four days, in which the clocks of Havana, Los Angeles and New York are changed
    found = figures("chaos", "series", "--days=4", "--each=1", "--kills=1", "--seed=3", database=database)

    assert (found["series"], found["killed"]) == (10, 1)
    assert found["occurrences"] > 35
    # the exit code says that nothing was lost, doubled or at another moment


@pytest.mark.nightly
def test_no_job_is_lost_when_everything_it_stands_on_dies_once() -> None:
    found = figures("chaos", "jobs", "--jobs=200", "--seconds=8", "--deeds=5", "--redis-away=1", "--seed=3")

    assert found["created"] == 200
    assert found["occurrences"] > 0
    assert found["resolved"] > 0
    assert [
        found[deed] for deed in ("crash database", "flush redis", "freeze worker", "kill redis", "kill worker")
    ] == [1] * 5
    assert found["missing"] == found["not succeeded"] == found["rows lost"] == 0
    assert found["came after cancel"] == found["cancel undone"] == found["early"] == 0
    assert found["came after resolve"] == found["resolve undone"] == found["follow-ups wrong"] == 0
    assert found["occurrences missing"] == found["occurrences twice"] == 0


@pytest.mark.nightly
def test_every_job_fires_while_redis_is_frozen() -> None:
    # How late says nothing here, beside other tests.
    found = figures("chaos", "redis-away", "--only=frozen", "--seconds=4", "--rate=10", "--late=60")

    assert found["frozen"]["jobs"] == 100
    # the exit code says that every one was called back


@pytest.mark.nightly
def test_jobs_can_be_measured_one_by_one() -> None:
    found = figures(
        *("bench", "jobs", "--jobs=200", "--rounds=1", "--seconds=0.5", "--trickle", "20", "--creates", "20"),
        *("--only", "memory", "trickle"),
    )

    assert found["Redis bytes/job"] > found["Redis bytes/job beyond the window"]
    assert found["burst, worker"] >= found["burst, worker: callbacks"] > 0
    assert min(found[f"20/s, {who}"] for who in ("PostgreSQL", "Redis", "worker", "late p50 ms")) > 0
    assert min(found[f"creates 20/s, {who}"] for who in ("PostgreSQL", "Redis", "web server")) > 0
    assert found["creates, single, a second"] > 0
    assert found["20/s, early"] == 0


@pytest.mark.nightly
def test_what_a_job_takes_of_the_database_can_be_measured() -> None:
    found = figures("bench", "capacity", "--jobs=1000", "--single=100")

    assert found["bytes"]["delayhub_job"] > 100
    for way in ("in batches", "one by one"):
        assert found[way].keys() == {"create", "deliver", "purge", "vacuum"}
        assert all(part["WAL"] > 0 and part["CPU"] > 0 for part in found[way].values())
    assert found["one by one"]["create"]["commits"] >= 1


@pytest.mark.nightly
def test_fresh_jobs_keep_their_time_beside_an_operation(database: str) -> None:
    found = figures(
        *("bench", "operations", "--redriven=300", "--rate=100", "--fresh=10", "--seconds=3"),
        "--rows=2000",
        database=database,
    )

    assert found["operation"] == "done"
    assert found["operation done"] == found["operation succeeded"] == 300
    # Others may share the machine: how much sooner they come beside the operation is for the benchmark itself.
    assert found["p50 ms, beside an operation"] > 0
    assert found["rows"] == 2_000


@pytest.mark.nightly
def test_tasks_can_be_measured_beside_those_of_rivals() -> None:
    # in this environment, so nothing is downloaded
    little = ("--rounds=1", "--count=200", "--seconds=0.2", "--waiting=0")
    parts = ("publish", "threads", "burst", "late-threads-200")
    found = figures("bench", "rivals", "--here", *little, "--peers", "delayhub", "kombu", "--parts", *parts)

    for peer in ("delayhub", "kombu"):
        assert found["medians"][peer]["publish, client CPU us"] > 0
        assert found["medians"][peer]["publish with an eta, bytes a message"] > 300
    assert found["lateness"]["delayhub threads 200/s"]["worst"] >= 0
    assert found["medians"]["delayhub"]["earliest, ms"] >= 0


@pytest.mark.nightly
def test_what_is_run_often_uses_an_index(database: str) -> None:
    # others may share the machine: what counts here is how many rows are read
    slow = ("--bound-ms=5000", "--idle-bound-ms=5000")
    found = figures("bench", "explain", "--rows=30000", "--biz-types=50", *slow, database=database)

    assert found["wrong"] == []
    # Prepared while the table was empty; where it is too quick to be let go of, kept until PostgreSQL makes statistics.
    assert set(found["kept though wrong"]) <= {
        f"imported into a new table: {what} of delayhub_job without an index"
        for what in ("claim 32: reads 30,000 rows", "outcomes of 32: reads 30,000 rows")
    }
    assert len(found["ms"]) >= 12
    assert len(found["pages"]) >= 40
    assert max(page["statements"] for page in found["pages"].values()) <= 12
    by_state = found["ms by state"]
    assert len(by_state["empty: prepared"]) == 7
    for state in ("imported into a new table", "imported, statistics are old", "after ANALYZE"):
        assert len(by_state[f"{state}: prepared"]) == 7
        for whose in ("full", "idle"):
            assert len(by_state[f"{state}: {whose}"]) >= 17


@pytest.mark.nightly
def test_a_filled_table_is_compared_with_an_empty_one() -> None:
    found = figures("bench", "filled", "--rows=3000", "--rounds=1", "--seconds=3", "--settle=0", "--rate=50")

    assert found["filled"]["jobs"] > 0 < found["empty"]["jobs"]
    assert len([name for name in found["filled"] if name.startswith("list")]) == 13
    made = 3000 + found["filled"]["jobs"] + found["purged"]["jobs"]
    assert 1000 < made - found["purged"]["jobs left"] < 2000


@pytest.mark.nightly
def test_a_second_site_takes_nothing_from_the_first() -> None:
    # how much each job costs is for the benchmark itself, others may share the machine
    found = figures("bench", "cells", "--jobs=100", "--rounds=1", "--delay=1", must_succeed=False)

    assert found["alone"]["times one"] == 1
    assert found["both"]["times one"] > 1


@pytest.mark.nightly
def test_celerys_own_tests_can_be_run_on_both_transports() -> None:
    found = figures("bench", "celery-suite", "--select=test_ping or test_simple_chain or test_simple_call")

    assert found["worse"] == []
    assert found["delayhub"] == found["redis"]
    assert found["delayhub"]["passed"] >= 3


@pytest.mark.nightly
def test_every_effect_is_made_once_at_a_receiver_that_kills_itself() -> None:
    little = ("--kinds=sqlite", "--jobs=3", "--seconds=1", "--kills=0", "--deaths=0")
    found = figures("chaos", "receivers", *little)

    assert found["sqlite killed"] == 1
    assert (found["effects in sqlite"], found["lost"], found["twice"]) == (3, 0, 0)


@pytest.mark.nightly
def test_a_limit_holds_over_workers_of_which_one_is_killed() -> None:
    # Single seconds, which its exit code is about too, a busy machine may stretch; not those of Redis' clock.
    found = figures("chaos", "limits", "--seconds=5", "--kill-every=4", "--only=workers", must_succeed=False)["workers"]

    assert found["kills"] == 1
    assert found["never run"] == found["run twice"] == found["unique keys twice at once"] == 0
    assert found["held"] == found["keys left"] == 0
    assert found["permits"] >= found["mails"] >= 50
    assert found["most permits in a second"] <= 11
    assert (0 < found["most at once"] <= 2, found["most of a tenant at once"]) == (True, 1)


@pytest.mark.nightly
def test_no_two_of_a_unique_key_run_at_once_and_none_is_left_when_a_worker_is_killed() -> None:
    # one worker, killed once at the end
    found = figures("chaos", "unique", "--workers=1", "--seconds=4", "--kill-every=60", "--seed=3")

    assert found["kills"] == 1
    assert min(found["accepted"], found["refused"], found["canvases"], found["runs"]) > 0
    assert found["two at once"] == found["lost, acks late"] == found["canvases that hang"] == 0
    assert found["keys left"] == found["messages left"] == 0


@pytest.mark.nightly
def test_each_periodic_task_is_published_once_although_a_beat_is_killed() -> None:
    found = figures("chaos", "beat", "--workers=2", "--simulated=50")

    assert found["kills"] >= 1
    assert found["published"] >= 150
    assert (found["twice"], found["left_out"]) == (0, 0)


@pytest.mark.nightly
def test_a_worker_runs_its_tasks_again_after_redis_was_away() -> None:
    little = ("--schemes=delayhub", "--pools=solo", "--acks=late", "--outages=2")
    found = figures("chaos", "outages", *little)["delayhub solo late"]

    assert (found["outages"], found["later"], found["ran"], found["held"], found["put right"]) == (1, 7, 7, 0, 0)


@pytest.mark.nightly
def test_workers_run_what_publishers_of_an_earlier_release_publish() -> None:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("cannot run here: the release before is taken from a clone, by git")
    little = ("--seconds=7", "--kill-every=2", "--only=release")
    found = figures("chaos", "upgrade", *little, must_succeed=False)["release"]

    assert min(found[name] for name in ("kills", "published", "by the others")) > 0
    assert found["never begun"] == found["dead"] == found["left in Redis"] == found["twice without a kill"] == 0
