"""Processes of a site."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from delayhub.errors import ServiceDied
from delayhub.local import service as service_module
from delayhub.local.service import Service
from tests.waiting import wait_until

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[str], Service]]:
    made: list[Service] = []

    def make(program: str) -> Service:
        log = tmp_path / "service.log"
        service = Service(
            "service",
            command=[sys.executable, "-c", program],
            environment=dict(os.environ),
            log=log,
            is_ready=lambda: "ready" in log.read_text(),
        )
        made.append(service)
        return service

    yield make
    for service in made:
        service.kill()


def waits(ready: str = "print('ready', flush=True)") -> str:
    return f"import signal; {ready}; signal.pause()"


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_service_is_started_checked_and_stopped(make: Callable[[str], Service]) -> None:
    service = make(waits())

    service.launch()
    service.wait_until_ready()
    service.check()
    pid = service.pid
    assert pid is not None

    service.stop()
    service.check()
    assert service.pid is None
    assert not is_alive(pid)


def test_only_its_owner_reads_what_a_service_writes(make: Callable[[str], Service], tmp_path: Path) -> None:
    service = make(waits(ready=f"open({str(tmp_path / 'made')!r}, 'w').close(); print('ready', flush=True)"))

    service.launch()
    service.wait_until_ready()

    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("made", "service.log")] == [0o600, 0o600]


def test_a_service_that_dies_at_its_start_is_reported_with_its_log(make: Callable[[str], Service]) -> None:
    service = make("raise SystemExit('no such option')")
    service.launch()

    with pytest.raises(ServiceDied, match=r"(?s)the service ended with exit code 1; its log ends:.*no such option"):
        service.wait_until_ready()


def test_a_service_that_dies_later_is_noticed(make: Callable[[str], Service]) -> None:
    service = make(waits())
    service.launch()
    service.wait_until_ready()
    pid = service.pid
    assert pid is not None

    os.kill(pid, 9)
    wait_until(lambda: service.pid is None, otherwise=lambda: "it lives")

    with pytest.raises(ServiceDied, match="exit code -9"):
        service.check()


def test_a_service_that_never_gets_ready_is_reported(
    make: Callable[[str], Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "START_SECONDS", 0.2)
    service = make(waits(ready="print('hm', flush=True)"))
    service.launch()

    with pytest.raises(ServiceDied, match="did not get ready"):
        service.wait_until_ready()


def test_a_service_that_does_not_hear_sigterm_is_killed(
    make: Callable[[str], Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "STOP_SECONDS", 0.2)
    service = make(STUBBORN)
    service.launch()
    service.wait_until_ready()
    pid = service.pid
    assert pid is not None

    service.stop()

    assert not is_alive(pid)


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_a_second_ctrl_c_ends_a_service_that_takes_its_time(make: Callable[[str], Service]) -> None:
    # It does not end at the first Ctrl-C, so a person presses it again.
    service = make(
        "import os, signal;"
        " signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getppid(), signal.SIGINT));"
        " print('ready', flush=True); signal.pause(); signal.pause()"
    )
    service.launch()
    service.wait_until_ready()
    pid = service.pid
    assert pid is not None

    with pytest.raises(KeyboardInterrupt):
        service.stop()

    assert not is_alive(pid)


def test_a_kill_spares_no_child(make: Callable[[str], Service], tmp_path: Path) -> None:
    child_pid = tmp_path / "child"
    start_child = (
        "import subprocess, sys, pathlib;"
        " child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()']);"
        f" pathlib.Path({str(child_pid)!r}).write_text(str(child.pid)); print('ready', flush=True)"
    )
    service = make(waits(ready=start_child))
    service.launch()
    service.wait_until_ready()

    service.kill()

    # init reaps it in its own time; a zombie has no command line
    cmdline = Path(f"/proc/{child_pid.read_text()}/cmdline")
    wait_until(
        lambda: not cmdline.exists() or not cmdline.read_bytes(),
        otherwise=lambda: "the child lives",
    )
