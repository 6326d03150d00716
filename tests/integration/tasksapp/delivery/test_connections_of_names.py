"""Names of receivers, and name servers that do not answer."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tasksapp.delivery import connections as module
from tasksapp.delivery.connections import NameResolver
from tasksapp.delivery.outcomes import CallbackResult, Delivered
from tests.callbacks import callback
from tests.integration.tasksapp.delivery.raw_receiver import answering, failed, listening, sending

SILENT = 40


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A name server that knows ``innocent.example``, and of all other names says nothing until the event is set."""
    answers = threading.Event()
    ask = socket.getaddrinfo

    def getaddrinfo(host: str, *args: Any, **options: Any) -> Any:
        if host != "innocent.example":
            answers.wait(60)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return ask("127.0.0.1", *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield answers
    answers.set()


def test_names_without_an_answer_hold_up_no_other(silence: threading.Event) -> None:
    async def run() -> tuple[CallbackResult, list[CallbackResult]]:
        async with listening(answering(b"HTTP/1.1 204 No Content\r\n\r\n")) as port, sending() as sender:
            hostile = [
                asyncio.create_task(sender.send(callback(f"http://silent-{number}.example/", timeout_seconds=10.0)))
                for number in range(SILENT)
            ]
            for _ in range(20):
                await asyncio.sleep(0)  # until all of them have asked
            innocent = await sender.send(callback(f"http://innocent.example:{port}/", timeout_seconds=10.0))
            assert not any(task.done() for task in hostile)
            silence.set()
            return innocent, await asyncio.gather(*hostile)

    innocent, hostile = asyncio.run(run())

    assert innocent.outcome == Delivered()
    assert all(failed(result).unsent for result in hostile)


def test_so_many_lookups_are_under_way_at_once(silence: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LOOKUPS", 1)

    async def run() -> list[Any]:
        resolver = NameResolver()
        first = asyncio.create_task(resolver.resolve("silent.example", 80))
        second = asyncio.create_task(resolver.resolve("innocent.example", 80))
        await asyncio.sleep(0.1)
        assert not second.done()
        silence.set()
        with pytest.raises(OSError, match="no answer"):
            await first
        return await second

    [found] = asyncio.run(run())

    assert (found["hostname"], found["host"], found["port"]) == ("innocent.example", "127.0.0.1", 80)


def test_a_lookup_that_nobody_waits_for_any_more_is_left_to_itself(silence: threading.Event) -> None:
    async def run() -> bool:
        resolver = NameResolver()
        task = asyncio.create_task(resolver.resolve("silent.example", 80))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        silence.set()
        found = await resolver.resolve("innocent.example", 80)
        await resolver.close()
        return bool(found)

    assert asyncio.run(run())


def test_a_lookup_that_gets_no_thread_takes_no_place_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LOOKUPS", 1)

    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def run() -> list[Any]:
        resolver = NameResolver()
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", no_thread)
            with pytest.raises(RuntimeError):
                await resolver.resolve("receiver.example", 80)
        async with asyncio.timeout(5):
            return await resolver.resolve("127.0.0.1", 80)

    assert asyncio.run(run())
