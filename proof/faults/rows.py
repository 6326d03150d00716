"""The rows of the table: what happens, what is promised of it, and how a run makes it happen."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from proof.faults.crew import LEASE_SECONDS, Crew

#: How long what is away is away.
AWAY_SECONDS = 0.5
#: The size of a disk that fills up.
DISK = "4m"


@dataclass(frozen=True, slots=True)
class Row:
    """One of the table.

    Args:
        name: of its file.
        what: what happens, for readers.
        promise: what is promised of the tasks of DelayHub.
        deed: makes it happen, once tasks are there.
        none: the figures that must be zero of DelayHub.
        crew: how the crew differs from others.
        brokers: the schemes that it is played on.
        runs: how many there are to be of each.
    """

    name: str
    what: str
    promise: str
    deed: Callable[[Crew], None]
    none: tuple[str, ...] = ("lost", "early", "after_cancel", "stuck")
    crew: Mapping[str, Any] = field(default_factory=dict)
    brokers: tuple[str, ...] = ("delayhub", "redis")
    runs: int = 100

    def played(self, folder: Path, broker: str, *, seed: int) -> dict[str, Any]:
        """The figures of one run."""
        with contextlib.ExitStack() as ending:
            options = dict(self.crew)
            if self.name == "disk_full":
                options["data_dir"] = ending.enter_context(small_disk(folder / "disk"))
            crew = ending.enter_context(Crew(folder, broker, seed=seed, **options))
            crew.publish()
            crew.wait_for_some()
            crew.cancel_some()
            self.deed(crew)
            return crew.judged(expected_lost="lost" not in self.none)

    def is_kept(self, figures: Mapping[str, Any]) -> bool:
        """Whether the promise was."""
        return not any(figures[name] for name in self.none)


def small_disk(folder: Path) -> contextlib.AbstractContextManager[Path]:
    """A file system of a few MB, for as long as the block lasts; only root can have one."""

    @contextlib.contextmanager
    def mounted() -> Any:
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)], check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)

    return mounted()


def _redis_killed(crew: Crew) -> None:
    crew.server.kill()
    time.sleep(AWAY_SECONDS)
    crew.server.start()


def _stopped(crew: Crew) -> None:
    worker = crew.chance.choice(crew.workers)
    os.killpg(worker, signal.SIGSTOP)
    time.sleep(LEASE_SECONDS + 1.5)
    os.killpg(worker, signal.SIGCONT)


def _rolled_back(crew: Crew) -> None:
    """What was cancelled before is cancelled in the copy, too."""
    files = crew.server.data_dir / "appendonlydir"
    copy = crew.folder / "copy"
    shutil.copytree(files, copy)
    time.sleep(AWAY_SECONDS)
    crew.server.kill()
    shutil.rmtree(files)
    shutil.copytree(copy, files)
    crew.server.start()


def _flushed(crew: Crew) -> None:
    with crew.server.client() as client:
        client.flushall()


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


def _disk_full(crew: Crew) -> None:
    filler = crew.server.data_dir / "filler"
    with contextlib.suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(b"x" * 4096)
            file.flush()
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
    crew.start_wrong_worker(crew.chance.choice([-1.0, 1.0]))
    until = time.monotonic() + 30
    while "ready" not in (crew.folder / "worker.log").read_text() and time.monotonic() < until:
        time.sleep(0.1)
    crew.publish()


ROWS = (
    Row(
        "worker_killed", "kill -9 of a worker", "each task runs; what it held comes back after its lease",
        Crew.replace_worker,
    ),
    Row(
        "child_killed", "kill -9 of a child of the prefork pool", "each task runs; what it ran runs again",
        Crew.kill_a_child, crew={"pool": "prefork"},
    ),
    Row(
        "redis_killed", "kill -9 of Redis, `appendfsync always`", "each task runs", _redis_killed,
    ),
    Row(
        "stopped", "a worker stands still beyond its lease, and goes on",
        "each task runs; what it held runs elsewhere, and what it had begun twice", _stopped,
    ),
    Row(
        "reply_lost", "one in twenty replies of Redis is lost", "each task runs", _replies_lost,
        crew={"through_proxy": True},
    ),
    Row(
        "cut", "all connections are cut", "each task runs, and none twice", _cut,
        ("lost", "twice", "early", "after_cancel", "stuck"), {"through_proxy": True},
    ),
    Row(
        "rolled_back", "Redis goes back by half a second", "each task that was there runs; what was done since, again",
        _rolled_back,
    ),
    Row(
        "flushed", "`FLUSHALL`", "what waits is lost, as with any broker; nothing is stuck or early", _flushed,
        ("early", "after_cancel", "stuck"),
    ),
    Row(
        "disk_full", "the disk of Redis is full for a while", "each task runs", _disk_full, crew={"fsync": "everysec"},
    ),
    Row(
        "no_connections", "Redis takes no connections (`maxclients`)", "each task runs", _no_connections,
    ),
    Row(
        "clock_off", "the clock of one of three workers is an hour off", "each task runs, on time", _clock_off, runs=20,
    ),
)  # fmt: skip
