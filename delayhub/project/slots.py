"""Slots: slow clients and a locked database cannot hold every thread of the web server.

A thread that reads a body waits for the client, and granian has no deadline for that; nor for one that sends an answer
part by part, as an export. One that waits for a lock has a
deadline (``WEB_LOCK_SECONDS``), but as many may come within it as there are threads. So such requests get fewer slots
than there are threads; the threads left over answer others, probes among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from threading import Semaphore
from typing import Any

from delayhub.project.refusals import RequestBody, WSGIApplication, refuse

#: How long a request waits for a slot; most leave theirs in milliseconds.
WAIT_SECONDS = 0.25
#: What needs no slot.
PROBES = frozenset({"/livez", "/readyz"})
#: When those that get no slot are to come again.
AGAIN = {"Retry-After": "1"}


class _Slots:
    """A WSGI application in which at most so many requests have a slot; others get 503 after 0.25 s.

    Args:
        application: what answers.
        slots: how many; several fewer than the server's threads.
    """

    #: What those are told that get none.
    refusal: str

    def __init__(self, application: WSGIApplication, *, slots: int) -> None:
        self._application = application
        self._slots = Semaphore(slots)
        self._is_full = False

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answers the request."""
        if not self._needs_slot(environ):
            return self._application(environ, start_response)
        # Where one request has waited for nothing, those behind it do not: waiting holds a thread, too.
        entered = self._slots.acquire(timeout=0 if self._is_full else WAIT_SECONDS)
        self._is_full = not entered
        if not entered:
            return refuse(environ, start_response, status=503, code="busy", detail=self.refusal, headers=AGAIN)
        leave = self._until_left(environ)
        try:
            answer = self._application(environ, start_response)
        except BaseException:
            leave()
            raise
        return self._answered(answer, leave)

    def _needs_slot(self, environ: dict[str, Any]) -> bool:
        raise NotImplementedError

    def _until_left(self, environ: dict[str, Any]) -> Callable[[], object]:
        """What leaves the slot when the request is answered, unless it was left before."""
        del environ
        held = [self._slots]

        def leave() -> None:
            if held:
                held.pop().release()

        return leave

    def _answered(self, answer: Iterable[bytes], leave: Callable[[], object]) -> Iterable[bytes]:
        """The answer; its slot is left with it, or when all of it is sent."""
        raise NotImplementedError


class RequestSlots(_Slots):
    """Slots for all requests but probes."""

    refusal = "Too many requests are under way. Nothing was done: try again."

    def _needs_slot(self, environ: dict[str, Any]) -> bool:
        return environ.get("PATH_INFO") not in PROBES

    def _answered(self, answer: Iterable[bytes], leave: Callable[[], object]) -> Iterable[bytes]:
        # What is a list is sent without this thread; all else as the client reads it.
        if isinstance(answer, list):
            leave()
            return answer
        return _Sent(answer, leave)


class AwaitedRequestSlots:
    """The same for an ASGI application, whose requests each have a thread."""

    def __init__(self, application: Any, *, slots: int) -> None:
        self._application, self._free = application, slots

    async def __call__(self, scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        """Answer the request."""
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self._application(scope, receive, send)
        elif self._free <= 0:
            await _refuse_awaited(scope, send, detail=RequestSlots.refusal)
        else:
            self._free -= 1
            try:
                await self._application(scope, receive, send)
            finally:
                self._free += 1


async def _refuse_awaited(scope: dict[str, Any], send: Callable[..., Any], *, detail: str) -> None:
    began: list[Any] = []
    environ = {"PATH_INFO": scope["path"]}
    body = b"".join(
        refuse(environ, lambda *start: began.extend(start), status=503, code="busy", detail=detail, headers=AGAIN)
    )
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in began[1]]
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 503, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


class BodySlots(_Slots):
    """Slots for requests that wait for their body; one that has been read leaves its slot."""

    refusal = "Too many requests are waiting for their body. Try again."

    def _needs_slot(self, environ: dict[str, Any]) -> bool:
        return (environ.get("CONTENT_LENGTH") or "0") != "0" or _may_have_chunks(environ)

    def _until_left(self, environ: dict[str, Any]) -> Callable[[], object]:
        length, leave = environ.get("CONTENT_LENGTH") or "0", super()._until_left(environ)
        body = RequestBody(environ["wsgi.input"], length=(length.isdigit() and int(length)) or -1, ended=leave)
        environ["wsgi.input"] = BufferedReader(body)
        return leave

    def _answered(self, answer: Iterable[bytes], leave: Callable[[], object]) -> Iterable[bytes]:
        leave()
        return answer


class _Sent:
    """An answer that leaves a slot when the server closes it, which WSGI has it do at the end, whatever that is."""

    def __init__(self, answer: Iterable[bytes], leave: Callable[[], object]) -> None:
        self._answer, self._leave = answer, leave

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        try:
            if close := getattr(self._answer, "close", None):
                close()
        finally:
            self._leave()


def _may_have_chunks(environ: dict[str, Any]) -> bool:
    """Whether a body of unknown length may follow. HTTP/2 has no header for that."""
    if "HTTP_TRANSFER_ENCODING" in environ:
        return True
    is_http1 = environ.get("SERVER_PROTOCOL", "HTTP/1.1").startswith("HTTP/1")
    return not is_http1 and "CONTENT_LENGTH" not in environ and environ["REQUEST_METHOD"] not in {"GET", "HEAD"}
