"""What a worker that ends cold does in each pool, without a worker."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from celery.concurrency.base import BasePool
from celery.concurrency.solo import TaskPool as SoloPool
from celery.concurrency.thread import TaskPool as ThreadPool
from celery.exceptions import WorkerTerminate
from celery.worker import state

from delayhub.celery_support import cold_shutdown
from delayhub.celery_support.cold_shutdown import cancel_all, handle_in_greenlets, leave, wait_softly


@pytest.fixture(autouse=True)
def cold_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "should_terminate", None)
    monkeypatch.setattr(state, "active_requests", set())


def test_what_is_cancelled_knows_that_its_worker_ends() -> None:
    known: list[Any] = []

    cancel_all(SimpleNamespace(pool=BasePool()), lambda: known.append(state.should_terminate))

    assert known == [True]


def test_a_solo_worker_breaks_off_the_task_that_it_runs() -> None:
    consumer = SimpleNamespace(pool=object.__new__(SoloPool))  # made as usual, it would begin to deliver jobs
    cancel_all(consumer, lambda: None)  # it runs none

    state.active_requests.add("a task")  # type: ignore[arg-type]  # any will do
    with pytest.raises(WorkerTerminate) as raised:
        cancel_all(consumer, lambda: None)

    assert raised.value.code == 0


def test_a_worker_with_threads_does_not_wait_for_them() -> None:
    pool: Any = ThreadPool(limit=1)
    goes_on = threading.Event()
    running, waiting = pool.executor.submit(goes_on.wait, 60), pool.executor.submit(goes_on.wait, 60)
    ended: list[str] = []
    controller: Any = SimpleNamespace(terminate=lambda: ended.append("the worker"))

    cancel_all(SimpleNamespace(pool=pool, controller=controller), lambda: None)
    pool.stop()
    controller.terminate()

    assert (running.done(), waiting.cancelled(), ended) == (False, True, ["the worker"])
    goes_on.set()
    assert running.result(60)


@pytest.mark.parametrize(("runs", "exits"), [(True, ["the worker", 0]), (False, ["the worker"])])
def test_threads_that_still_run_tasks_end_with_the_process(
    runs: bool, exits: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[object] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(cold_shutdown.logging, "shutdown", lambda: None)
    if runs:
        state.active_requests.add("a task")  # type: ignore[arg-type]  # any will do

    leave(lambda: ended.append("the worker"))

    assert ended == exits


def test_a_worker_with_greenlets_takes_no_task_while_it_waits_softly() -> None:
    done: list[str] = []
    consumer = SimpleNamespace(task_consumer=SimpleNamespace(cancel=lambda: done.append("cancelled")))

    wait_softly(consumer, lambda: done.append("waited"))
    wait_softly(SimpleNamespace(task_consumer=None), lambda: done.append("waited"))

    assert done == ["cancelled", "waited", "waited"]


@pytest.fixture
def same_handlers() -> Iterator[None]:
    """Leaves the handlers of signals as they were."""
    numbers = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("same_handlers")
def test_each_of_celerys_signal_handlers_runs_in_a_greenlet_of_its_own() -> None:
    spawned: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
    handled: list[str] = []

    def spawn(run: Callable[..., None], *arguments: Any) -> None:
        spawned.append((run, arguments))

    def worker_Warm(*_: object) -> None:
        handled.append("again")

    def worker_Cold(*_: object) -> None:
        handled.append("first")
        signal.signal(signal.SIGQUIT, worker_Warm)  # Celery's handlers install the next ones so

    def other(*_: object) -> None:
        handled.append("of another")

    signal.signal(signal.SIGQUIT, worker_Cold)
    signal.signal(signal.SIGTERM, other)
    handle_in_greenlets(spawn)

    for _ in range(2):
        signal.raise_signal(signal.SIGQUIT)
        heard = list(handled)
        while spawned:
            run, arguments = spawned.pop(0)
            run(*arguments)
        handled.append(f"heard {heard}")
    signal.raise_signal(signal.SIGTERM)

    assert handled == ["first", "heard []", "again", "heard ['first', 'heard []']", "of another"]
