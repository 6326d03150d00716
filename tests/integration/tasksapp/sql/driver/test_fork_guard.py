"""No process is forked while a thread holds the guard."""

from __future__ import annotations

import os
import threading

import pytest

from tasksapp.sql.driver import fork_guard as module
from tasksapp.sql.driver.fork_guard import ForkGuard


def forked() -> int:
    """The exit code of a child that ends at once."""
    child = os.fork()
    if child == 0:
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_waits_for_the_thread_and_the_thread_for_the_fork() -> None:
    guard = ForkGuard()
    held, ends, order = threading.Event(), threading.Event(), []

    def work() -> None:
        with guard:
            held.set()
            ends.wait(60)
            order.append("work ended")

    thread = threading.Thread(target=work)
    thread.start()
    assert held.wait(60)
    threading.Timer(0.1, ends.set).start()
    code = forked()
    order.append("forked")
    thread.join()

    assert code == 7
    assert order == ["work ended", "forked"]
    with guard:
        pass


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_thread_that_takes_too_long_does_not_keep_a_process_from_being_forked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LONGEST_WAIT_SECONDS", 0.01)
    guard = ForkGuard()

    with guard:
        assert forked() == 7

    with guard:
        pass
