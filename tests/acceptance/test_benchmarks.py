"""A tiny run of each benchmark and chaos run of the Makefile, so that they work when they are needed.

Those of the transport, of a cluster and of jobs are a part of ``make test``, since they kill whatever there is. The
others run at night; by day each promise has a test of its own room, and ``test_benchmarks_help.py`` imports all.
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

from benchmarks.chaos_upgrade import EARLIER
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


@pytest.mark.slow
def test_nothing_is_lost_in_a_little_chaos() -> None:
    found = figures("chaos", "transport", "--tasks=300", "--countdown=4", "--kills=4", "--restarts=1")

    kills, safe = found["kills"], found["failover, WAIT"]
    assert kills["tasks"] >= 300
    assert kills["lost"] == kills["dead"] == kills["still there"] == 0
    assert kills["worker killed"] == 3
    others = ["Redis killed", "connections cut", "connections slowed", "connections half-open", "scripts flushed"]
    assert [kills[deed] for deed in others] == [1] * 5
    assert found["failover"]["master fell"] == safe["master fell"] == 1
    assert safe["lost"] == 0


@pytest.mark.slow
def test_nothing_is_lost_while_masters_of_a_cluster_fall_and_slots_move() -> None:
    found = figures("chaos", "cluster", "--tasks=200", "--countdown=3", "--only=tasks, WAIT")

    safe = found["tasks, WAIT"]
    assert (safe["tasks"], safe["lost"], safe["dead"], safe["still there"]) == (200, 0, 0, 0)
    assert (safe["slot moved by keys"], safe["node added"], safe["master killed"]) == (1, 1, 2)


@pytest.mark.nightly
def test_lost_replies_store_nothing_twice() -> None:
    found = figures("chaos", "replies", "--messages=200", "--loss=0.05")

    for where in ("one server", "cluster"):
        assert (found[where]["stored"], found[where]["stored twice"]) == (200, 0)
        assert found[where]["replies lost"] > 0


@pytest.mark.nightly
def test_each_occurrence_of_a_little_chaos_happens_once_at_its_moment(database: str) -> None:
    # four days, in which the clocks of Havana, Los Angeles and New York are changed
    found = figures("chaos", "series", "--days=4", "--each=1", "--kills=1", "--races=0", "--seed=3", database=database)

    assert (found["series"], found["killed"]) == (10, 1)
    assert found["occurrences"] > 35
    # the exit code says that nothing was lost, doubled or at another moment


@pytest.mark.nightly
def test_every_job_of_a_little_chaos_ends_as_it_must() -> None:
    found = figures("chaos", "site", "--jobs=60", "--seconds=4", "--kills=1", "--wipes=1")

    assert found["jobs"] == 60
    assert found["lost"] == found["wrong status"] == found["delivered though cancelled"] == found["early"] == 0
    assert found["worker killed"] == found["Redis killed"] == found["Redis wiped"] == 1


@pytest.mark.slow
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
def test_jobs_can_be_measured_beside_plain_tasks(database: str) -> None:
    found = figures(
        *("bench", "jobs", "--jobs=200", "--rounds=1", "--seconds=0.5", "--flushed=100"),
        *("--only", "create", "rest", "bursts", "steady", "flushed"),
        database=database,
    )

    assert found["callbacks/s"] > 0
    assert found["REST creates/s, single"] > 0
    assert found["REST creates/s, bulk of 500"] > 0
    assert found["plain task/s"] > 0
    assert found["µs/job, worker"] >= found["µs/job, worker: callbacks"] > 0
    assert found["lateness ms, 200/s, early"] == 0
    assert found["FLUSHALL, 100 due: never came"] == 0


@pytest.mark.nightly
def test_fresh_jobs_keep_their_time_beside_an_operation(database: str) -> None:
    found = figures(
        *("bench", "operations", "--redriven=300", "--rate=100", "--fresh=10", "--seconds=3"),
        *("--by-hand=300", "--rows=2000"),
        database=database,
    )

    assert found["operation"] == "done"
    assert found["operation done"] == found["operation succeeded"] == 300
    # Others may share the machine: how much sooner they come beside the operation is for the benchmark itself.
    assert min(found[f"p50 ms, beside {what}"] for what in ("an operation", "a redrive at once")) > 0
    assert found["rows"] == 2_000


@pytest.mark.nightly
def test_forecasts_can_be_held_against_real_drains(database: str) -> None:
    found = figures(
        "bench", "forecast", "--jobs=600", "--before=400", "--rate=100", "--only", "rate", database=database
    )

    [drain] = found["rate"]
    assert drain["seconds"] >= 4
    assert drain["forecast/s"] > 0
    assert {drain["before"], drain["begun"], drain["middle"]} != {None}


@pytest.mark.nightly
def test_the_engine_can_be_measured() -> None:
    found = figures("bench", "engine", "--count=400", "--rounds=1")

    assert found["create_one"] > 0
    assert found["lateness_ms_at_25_per_second"]["min"] >= 0


@pytest.mark.nightly
def test_the_transport_can_be_measured_beside_kombus() -> None:
    found = figures("bench", "transport", "--count=400", "--seconds=0.2", "--rounds=1")

    assert found["kombu"].keys() <= found["delayhub"].keys()
    assert found["lateness"]["delayhub solo 200/s"]["worst"] >= 0
    assert found["delayhub"]["earliest, ms"] >= 0
    assert found["delayhub"]["solo, tasks a second"] > 0


@pytest.mark.nightly
def test_tasks_can_be_measured_beside_those_of_rivals() -> None:
    # in this environment, so nothing is downloaded
    little = ("--rounds=1", "--count=60", "--waiting=0", "--kills=0")
    found = figures(
        *("bench", "rivals", "--here", *little),
        *("--peers", "delayhub", "kombu", "--parts", "publish", "threads"),
    )

    for peer in ("delayhub", "kombu"):
        assert found["medians"][peer]["publish, client CPU us"] > 0
        assert found["medians"][peer]["publish with an eta, bytes a message"] > 300


@pytest.mark.nightly
def test_what_each_verb_costs_can_be_measured() -> None:
    found = figures("bench", "million", "--entries=20000", "--limit=500")  # others may share the machine

    assert min(found[verb] for verb in ("schedule", "claim 1 000, all ready", "purge, all dead", "import-redis")) > 0


@pytest.mark.nightly
def test_what_is_run_often_uses_an_index(database: str) -> None:
    # others may share the machine: what counts here is how many rows are read
    found = figures("bench", "explain", "--rows=30000", "--idle-bound-ms=5000", database=database)

    assert found["wrong"] == []
    assert len(found["ms"]) >= 20
    assert [len(each) >= 9 for each in found["ms, idle"].values()] == [True, True]


@pytest.mark.nightly
def test_celerys_own_tests_can_be_run_on_both_transports() -> None:
    found = figures("bench", "celery-suite", "--select=test_ping or test_simple_chain or test_simple_call")

    assert found["worse"] == []
    assert found["delayhub"] == found["redis"]
    assert found["delayhub"]["passed"] >= 3


@pytest.mark.nightly
def test_pages_of_the_admin_ask_few_statements_when_there_are_many_jobs(database: str) -> None:
    found = figures(
        "bench", "admin", "--rows=20000", "--biz-types=50", "--requests=1", "--bound-ms=5000", database=database
    )

    assert found["wrong"] == {}
    assert len(found["pages"]) >= 40
    assert max(page["statements"] for page in found["pages"].values()) <= 12
    assert {page["status"] for page in found["pages"].values()} == {200}


@pytest.mark.nightly
def test_every_effect_is_made_once_at_a_receiver_that_kills_itself() -> None:
    little = ("--kinds=sqlite", "--jobs=3", "--seconds=1", "--kills=0", "--deaths=0")
    found = figures("chaos", "receivers", *little)

    assert found["sqlite killed"] == 1
    assert (found["effects in sqlite"], found["lost"], found["twice"]) == (3, 0, 0)


@pytest.mark.nightly
def test_limits_of_each_flow_key_hold_while_those_that_claim_are_killed() -> None:
    found = figures("bench", "flow-keys", "--only=limits", "--seconds=6")

    assert found["kills"] >= 2
    # A burst of one, and what comes late by a tenth of a second at most.
    assert 0 < found["most calls in a second"] <= found["rate of a key"] * 1.1 + 1


@pytest.mark.nightly
def test_a_limit_holds_over_workers_of_which_one_is_killed() -> None:
    # A worker that stands still for less than this lease loses none.
    little = ("--seconds=5", "--kill-every=4", "--only-backlog", "--lease=9", "--keys=200")
    found = figures("chaos", "limits", *little)

    backlog = found["backlog"]
    assert (backlog["never run"], backlog["kills"]) == (0, 1)
    assert backlog["permits"] >= backlog["starts"] >= 50
    assert backlog["most permits in a second"] <= backlog["limit a second"] + 1
    assert 0 < backlog["most at once"] <= backlog["may run at once"]
    assert found["cost"]["bytes, a parked message, 20 a task"] > 0


@pytest.mark.nightly
def test_flow_keys_of_tasks_have_a_cost_that_is_measured() -> None:
    found = figures("chaos", "flow-keys", "--only=cost", "--keys=4000")

    assert found["cost"]["bytes, a live key with one parked message"] > 0


@pytest.mark.nightly
def test_no_two_of_a_unique_key_run_at_once_and_none_is_left_when_a_worker_is_killed() -> None:
    # one worker, killed once at the end
    found = figures("chaos", "unique", "--workers=1", "--seconds=4", "--kill-every=60", "--seed=3")

    assert found["kills"] == 1
    assert min(found["accepted"], found["refused"], found["canvases"], found["runs"]) > 0
    assert found["two at once"] == found["lost, acks late"] == found["canvases that hang"] == 0
    assert found["keys left"] == found["messages left"] == 0


@pytest.mark.nightly
def test_while_the_jobs_are_locked_probes_are_answered_and_creates_told_to_come_again() -> None:
    # its exit code is about each single probe, which a busy machine may hold up
    little = ("--seconds=2", "--rate=30", "--lock-seconds=1")
    found = figures("chaos", "locked", *little, must_succeed=False)

    assert set(found["answers"]) <= {"201", "busy", "database_locked"}
    assert found["answers"]["201"] == 1
    assert found["answers"]["database_locked"] > 0
    assert found["sent again"] == {"201": found["creates"]}
    assert found["without Retry-After"] == found["lost"] == found["twice"] == 0
    assert found["probes"] >= 4


@pytest.mark.nightly
def test_each_periodic_task_is_published_once_although_a_beat_is_killed() -> None:
    found = figures("chaos", "beat", "--workers=2", "--simulated=50", "--real=0")["jumps"]

    assert found["kills"] >= 1
    assert found["published"] >= 150
    assert (found["twice"], found["left_out"]) == (0, 0)


@pytest.mark.nightly
def test_limits_and_unique_keys_of_a_queue_in_slots_hold_while_masters_fall() -> None:
    # its exit code is about each single second, which a busy machine may stretch
    run = ("chaos", "cluster", "--only=limits", "--limits-seconds=8")
    found = figures(*run, must_succeed=False)["limits"]

    assert (found["kills"], found["slots of limited tasks"]) == (2, 2)
    assert min(found[name] for name in ("mails", "reports", "unique ids")) > 0
    assert 0 < found["most at once"] <= found["may run at once"]
    assert found["never run"] == found["unique keys twice at once"] == 0
    assert found["messages left"] == found["keys left"] == 0


@pytest.mark.nightly
def test_a_worker_runs_its_tasks_again_after_redis_was_away() -> None:
    little = ("--schemes=delayhub", "--pools=solo", "--acks=late", "--outages=2")
    found = figures("chaos", "outages", *little)["delayhub solo late"]

    assert (found["outages"], found["later"], found["ran"], found["held"], found["put right"]) == (1, 7, 7, 0, 0)


def earlier_release() -> str:
    """The commit that ``chaos_upgrade`` takes; a clone without history has its newest one only."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("cannot run here: an earlier release is taken from a clone, by git")
    asked = ["git", "rev-parse", "--verify", "--quiet", f"{EARLIER}^{{tree}}"]
    return EARLIER if subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode == 0 else "HEAD"


@pytest.mark.nightly
def test_workers_run_what_publishers_of_an_earlier_release_publish() -> None:
    name = "new workers, earlier publishers"
    little = (f"--ref={earlier_release()}", "--seconds=5", "--kill-every=4")
    found = figures("chaos", "upgrade", f"--run={name}", *little)[name]

    assert found["kills"] >= 1
    assert found["published"] > 0
    assert found["never begun"] == found["dead"] == found["left in Redis"] == found["twice without a kill"] == 0
