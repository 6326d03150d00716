"""The rows of tasks: Celery's, on a queue of one Redis."""

from __future__ import annotations

import contextlib
import shutil
import time

import redis
from redis.crc import key_slot

from benchmarks.chaos_cluster import kill_the_master_of
from proof.faults.centre import Centre
from proof.faults.cluster_crew import ClusterCrew
from proof.faults.crew import Crew
from proof.faults.row import ONCE, Row
from proof.faults.small_disk import fill
from proof.faults.split_crew import SplitCrew

#: How long what is away is away.
AWAY_SECONDS = 0.5


def redis_killed(crew: Crew | Centre) -> None:
    crew.server.kill()
    time.sleep(AWAY_SECONDS)
    crew.server.start()


def rolled_back(crew: Crew | Centre) -> None:
    """What was cancelled before is cancelled in the copy, too."""
    files = crew.server.data_dir / "appendonlydir"
    copy = crew.folder / "copy"
    shutil.copytree(files, copy)
    time.sleep(AWAY_SECONDS)
    crew.server.kill()
    shutil.rmtree(files)
    shutil.copytree(copy, files)
    crew.server.start()


def flushed(crew: Crew | Centre) -> None:
    with crew.server.client() as client:
        client.flushall()


def _flushed(crew: Crew) -> None:
    """What comes after it runs: who consumes has noticed nothing, or has got over it."""
    flushed(crew)
    crew.may_be_lost |= crew.published.keys()
    crew.publish(20)


def _replies_lost(crew: Crew) -> None:
    assert crew.proxy is not None
    crew.proxy.lose_replies(0.05)
    crew.publish(20)
    time.sleep(AWAY_SECONDS)
    crew.proxy.lose_replies(0.0)


def _cut(crew: Crew) -> None:
    assert crew.proxy is not None
    crew.proxy.cut()


def _no_connections(crew: Crew) -> None:
    with crew.server.client() as client:
        before = client.config_get("maxclients")["maxclients"]
        client.config_set("maxclients", 1)
        client.client_kill_filter(_type="normal", skipme=True)
        time.sleep(3 * AWAY_SECONDS)
        client.config_set("maxclients", before)


def disk_full(crew: Crew | Centre) -> None:
    filler = fill(crew.server.data_dir)
    # What it writes meanwhile does not fit, so from now on it refuses to write.
    with crew.server.client() as client:
        until = time.monotonic() + 10
        while client.info("persistence")["aof_last_write_status"] == "ok" and time.monotonic() < until:
            with contextlib.suppress(redis.RedisError):
                client.set("filler", "x" * 100_000)
            time.sleep(0.05)
        if client.info("persistence")["aof_last_write_status"] == "ok":
            raise RuntimeError("the disk is not full")
        time.sleep(2 * AWAY_SECONDS)
        filler.unlink()


def _clock_off(crew: Crew) -> None:
    crew.start_wrong_worker()
    crew.publish()


def _master_killed(crew: ClusterCrew) -> None:
    kill_the_master_of(crew.cluster, "{celery}")


def _slot_moved(crew: ClusterCrew) -> None:
    source = crew.cluster.owner("{celery}")
    target = next(node for node in crew.cluster.masters if node is not source)
    if not crew.cluster.move_slot(key_slot(b"celery"), source=source, target=target, batch=1):
        raise RuntimeError("the slot had no keys")


TASK_ROWS = (
    Row(
        "worker_killed", "kill -9 of a worker", "each task runs; what it held comes back after its lease",
        Crew.replace_worker,
    ),
    Row(
        "child_killed", "kill -9 of a child of the prefork pool", "each task runs; what it ran runs again",
        Crew.kill_a_child, crew={"pool": "prefork"},
    ),
    Row(
        "redis_killed", "kill -9 of Redis, `appendfsync always`", "each task runs", redis_killed,
    ),
    Row(
        "stopped", "a worker stands still beyond its lease, and goes on",
        "each task runs; what it held runs elsewhere, and what it had begun twice", Crew.stop_a_worker,
    ),
    Row(
        "reply_lost", "one in twenty replies of Redis is lost", "each task runs", _replies_lost,
        crew={"through_proxy": True},
    ),
    Row(
        "cut", "all connections are cut", "each task runs, and none twice", _cut,
        ONCE, {"through_proxy": True},
    ),
    Row(
        "rolled_back", "Redis goes back by half a second", "each task that was there runs; what was done since, again",
        rolled_back,
    ),
    Row(
        "flushed", "`FLUSHALL`", "what waits is lost, as with any broker; each task that comes afterwards runs",
        _flushed, ("lost_promised", "early", "after_cancel", "stuck"),
    ),
    Row(
        "disk_full", "the disk of Redis is full for a while", "each task runs, and no worker ends", disk_full,
        ("lost", "early", "after_cancel", "stuck", "restarted"), {"fsync": "everysec", "disk": "4m"},
    ),
    Row(
        "no_connections", "Redis takes no connections (`maxclients`)", "each task runs", _no_connections,
    ),
    Row(
        "clock_off", "the clock of one of three workers is an hour off", "each task runs once, on time", _clock_off,
        ONCE, runs=25,
    ),
    Row(
        "cluster_master_killed", "kill -9 of the master of a cluster that has the queue, with `wait_replicas`",
        "each task runs; what no replica had heard of, again", _master_killed, brokers=("delayhub",), runs=25,
        kind=ClusterCrew,
    ),
    Row(
        "cluster_slot_moved", "the slot of the queue moves to another master, key by key", "each task runs once",
        _slot_moved, ONCE, brokers=("delayhub",), runs=25, kind=ClusterCrew,
    ),
    Row(
        "split_brain", "the old master goes on with one worker, while its replica takes its place for all others",
        "each task that both had runs, and may twice; what only the old one had may be lost", SplitCrew.split,
        ("lost_promised", "early", "after_cancel", "stuck"), brokers=("delayhub", "redis"), runs=25, kind=SplitCrew,
    ),
)  # fmt: skip
