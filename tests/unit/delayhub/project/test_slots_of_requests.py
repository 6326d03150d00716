"""Requests get fewer slots than there are threads; probes need none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from delayhub.project import slots
from delayhub.project.slots import AwaitedRequestSlots, RequestSlots


class Held:
    """A WSGI application whose requests for ``/held`` stay until they are let go."""

    def __init__(self) -> None:
        self.entered, self.go = threading.Semaphore(0), threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/held":
            self.entered.release()
            assert self.go.wait(30)
        if environ["PATH_INFO"] == "/fails":
            raise ZeroDivisionError
        start_response("200 OK", [])
        return []


def ask(application: Any, path: str) -> tuple[str, dict[str, str]]:
    """Status and headers of the answer."""
    seen: list[Any] = []
    application({"PATH_INFO": path}, lambda status, headers: seen.append((status[:3], dict(headers))))
    found: tuple[str, dict[str, str]] = seen[0]
    return found


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(
        slots,
        "refuse",
        lambda environ, start_response, *, status, headers, **_: start_response(f"{status} Busy", [*headers.items()]),
    )


@pytest.mark.usefixtures("_impatient")
def test_beyond_its_slots_requests_are_told_to_come_again_and_probes_are_answered() -> None:
    held = Held()
    application = RequestSlots(held, slots=2)
    threads = [threading.Thread(target=ask, args=[application, "/held"]) for _ in range(2)]
    for thread in threads:
        thread.start()
        assert held.entered.acquire(timeout=30)

    refused = ask(application, "/jobs")
    probes = [ask(application, path)[0] for path in ("/livez", "/readyz")]
    held.go.set()
    for thread in threads:
        thread.join(30)

    assert refused == ("503", {"Retry-After": "1"})
    assert probes == ["200", "200"]
    assert ask(application, "/jobs")[0] == "200"


@pytest.mark.usefixtures("_impatient")
def test_a_request_that_fails_leaves_its_slot() -> None:
    application = RequestSlots(Held(), slots=1)

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            ask(application, "/fails")

    assert ask(application, "/jobs")[0] == "200"


@pytest.mark.usefixtures("_impatient")
def test_an_answer_that_is_sent_part_by_part_has_its_slot_until_it_is_closed() -> None:
    def streaming(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        del environ
        start_response("200 OK", [])
        return iter([b"one", b"two"])

    application: Any = RequestSlots(streaming, slots=1)
    parts = application({"PATH_INFO": "/export"}, lambda *_: None)
    assert next(iter(parts)) == b"one"

    assert ask(application, "/jobs")[0] == "503"
    parts.close()
    parts.close()
    assert ask(application, "/jobs")[0] == "200"


def test_under_asgi_an_answer_has_its_slot_until_its_end_and_probes_need_none() -> None:
    async def run() -> list[int]:
        entered, go = asyncio.Event(), asyncio.Event()
        statuses: list[int] = []

        async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
            del receive
            if scope["path"] == "/held":
                entered.set()
                await go.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

        async def send(message: dict[str, Any]) -> None:
            statuses.extend([message["status"]] if "status" in message else [])

        slotted = AwaitedRequestSlots(application, slots=1)
        held = asyncio.create_task(slotted({"type": "http", "path": "/held"}, None, send))  # type: ignore[arg-type]  # it is not called
        await entered.wait()
        for path in ("/jobs", "/livez"):
            await slotted({"type": "http", "path": path}, None, send)  # type: ignore[arg-type]  # it is not called
        go.set()
        await held
        await slotted({"type": "http", "path": "/jobs"}, None, send)  # type: ignore[arg-type]  # it is not called
        return statuses

    assert asyncio.run(run()) == [503, 200, 200, 200]
