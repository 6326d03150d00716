"""Each step of a move fails in each way: the move can be repeated or undone, and no job is stranded unsaid."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, InterfaceError, OperationalError

from tasksapp.biz_types.stranded import stranded
from tasksapp.errors import MoveFailed
from tasksapp.models import BizType
from tasksapp.transfer import mover
from tasksapp.transfer.departure import Departure
from tasksapp.transfer.exporter import Exporter
from tasksapp.transfer.mover import Mover
from tests.moving_tenant import KEY, Killed, Road, live, open_sites

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "there"]),
    pytest.mark.usefixtures("_another_site"),
]

DATABASE_AWAY = [OperationalError("the server closed the connection"), InterfaceError("connection already closed")]
DISK = [OSError(errno.ENOSPC, "No space left on device"), PermissionError(errno.EACCES, "Permission denied")]
#: What the command of the other site ends with: exit code and what it says.
SAID = {
    "network refused": (255, "ssh: connect to host c3 port 22: Connection refused"),
    "timeout": (124, "timed out"),
    "500": (1, "HTTP 500"),
    "401": (1, "HTTP 401"),
    "database away there": (1, "OperationalError: connection refused"),
    "redis away there": (1, "ConnectionError: Error 111 connecting to 10.0.0.7:6379"),
    "disk full there": (1, "OSError: [Errno 28] No space left on device"),
    "quota there": (1, "acme has as many biz types as it may"),
    "killed there": (-9, ""),
}
#: What runs on this site, and each way in which it fails; what raises before this site has let go.
HERE: dict[str, tuple[type, list[BaseException]]] = {
    "close": (Departure, [*DATABASE_AWAY, Killed()]),
    "running": (Departure, [*DATABASE_AWAY, Killed()]),
    "digest": (Exporter, [*DATABASE_AWAY, Killed()]),
    "lines": (Exporter, [*DATABASE_AWAY, *DISK, Killed()]),
    "_keep": (Mover, [*DISK, Killed()]),
    "_await_writers": (Mover, [*DATABASE_AWAY, Killed()]),
    "leave": (Departure, [*DATABASE_AWAY, Killed()]),
}
AFTER = ["the same file", "another file", "back"]
# By day each step fails in one way.
ON_THIS_SITE = [
    pytest.param(
        name, error, after, marks=[] if error is errors[0] and after == AFTER[number % 3] else pytest.mark.nightly
    )
    for number, (name, (_, errors)) in enumerate(HERE.items())
    for error in errors
    for after in AFTER
]
ON_THE_OTHER = [
    pytest.param(option, how, is_done, marks=[] if how == "network refused" else pytest.mark.nightly)
    for option in ("--undo", "--paused", "--open")
    for how in [*SAID, "no such command", "killed here"]
    for is_done in (False, True)
    if not (is_done and how == "no such command")
]
Enabled = dict[str, bool]


def enabled() -> Enabled:
    return dict(BizType.objects.filter(tenant__code="acme").values_list("code", "enabled"))


def fails(monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(HERE[name][0], name, fail)


def fails_there(monkeypatch: pytest.MonkeyPatch, road: Road, option: str, how: str, *, is_done: bool) -> None:
    """Let the command with that option fail, before the other site has done it or after."""

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        if command[-1] != option:
            return road.run(command, **options)
        if how == "no such command":
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", command[0])
        if is_done:
            road.run(command, **options)
        if how == "killed here":
            raise Killed
        code, said = SAID[how]
        return subprocess.CompletedProcess(command, code, "", said)

    monkeypatch.setattr(mover.subprocess, "run", run)


def check_named(before: set[tuple[str, str]]) -> None:
    """No job is lost, begins on both sites, or waits in a closed biz type that no page and no check names."""
    assert live("default") | live("there") == before
    assert len(open_sites()) <= 1
    for site in ("default", "there"):
        waits = any(status == "pending" for _, status in live(site)) and site not in open_sites()
        assert waits == bool(stranded(using=site)), site


def check_repeated(road: Road, before: set[tuple[str, str]], was: Enabled, *, file: str | None = None) -> None:
    road.mover(file=file).move()
    assert (live("default"), live("there"), open_sites()) == (set(), before, {"there"})
    there = BizType.objects.using("there").filter(tenant__code="acme")
    assert dict(there.values_list("code", "enabled")) == was
    assert not stranded(using="there")
    assert not stranded()


def check_undone(road: Road, before: set[tuple[str, str]], was: Enabled) -> None:
    assert (live("default"), live("there"), open_sites()) == (before, set(), {"default"})
    assert enabled() == was
    assert not stranded()
    with pytest.raises(MoveFailed, match="no move of it has begun"):
        road.mover().back()


def attempt(step: Callable[[], None]) -> None:
    with pytest.raises((MoveFailed, DatabaseError, InterfaceError, OSError, Killed)):
        step()


@pytest.mark.parametrize(
    ("name", "error", "after"), ON_THIS_SITE, ids=lambda each: each if isinstance(each, str) else type(each).__name__
)
def test_a_step_on_this_site_that_failed_is_repeated_or_undone(
    road: Road, key: str, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException, after: str
) -> None:
    before, was = live("default"), enabled()

    with monkeypatch.context() as patched:
        fails(patched, name, error)
        attempt(road.mover().move)

    check_named(before)
    if after == "back":
        if name == "_keep":  # which is the first step: nothing has begun
            assert open_sites() == {"default"}
        else:
            road.mover().back()
        check_undone(road, before, was)
    else:
        check_repeated(road, before, was, file="other.ndjson" if after == "another file" else None)


@pytest.mark.parametrize(("option", "how", "is_done"), ON_THE_OTHER)
def test_a_step_on_the_other_site_that_failed_is_repeated_or_undone(
    road: Road, key: str, monkeypatch: pytest.MonkeyPatch, option: str, how: str, *, is_done: bool
) -> None:
    before, was = live("default"), enabled()

    with monkeypatch.context() as patched:
        fails_there(patched, road, option, how, is_done=is_done)
        attempt(road.mover().move)
        check_named(before)
        if option != "--open":
            # While the other site cannot be asked, this one is open all the same.
            attempt(road.mover().back) if option == "--undo" else road.mover().back()
            assert (open_sites(), enabled()) == ({"default"}, was)
            attempt(road.mover().move)

    check_repeated(road, before, was, file=None if option == "--open" else "other.ndjson")


def test_what_an_undone_move_left_there_is_not_run_there_later(
    road: Road, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It failed after the import, and --back could not reach the other site; meanwhile a job ends here."""
    with monkeypatch.context() as patched:
        fails(patched, "leave", Killed())
        attempt(road.mover().move)
    with monkeypatch.context() as patched:
        fails_there(patched, road, "--undo", "network refused", is_done=False)
        attempt(road.mover().back)
    ended = BizType.objects.get(code="order.close").jobs.filter(status="pending").first()
    assert ended is not None
    type(ended).objects.filter(pk=ended.pk).update(status="cancelled")
    before = live("default")

    check_repeated(road, before, enabled())


def test_the_command_says_what_to_do(road: Road, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (road.folder / "move.key").write_text(KEY)
    file = str(road.folder / "acme.ndjson")
    options = {"there": "there there", "key": str(road.folder / "move.key")}

    for name, error in (("close", DATABASE_AWAY[1]), ("digest", DATABASE_AWAY[0]), ("lines", DISK[0])):
        with monkeypatch.context() as patched, pytest.raises(CommandError, match="Run it again: it goes on, or with"):
            fails(patched, name, error)
            call_command("move_tenant", "acme", file, **options)
