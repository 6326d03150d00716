"""WholeBody: a body that was cut short is an error to whatever reads it, not a shorter body.

Django takes the fields that came for the whole form: a biz type would be stored without those that did not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from delayhub.project.refusals import WSGIApplication


class WholeBody:
    """A WSGI application that gets bodies as long as their ``Content-Length`` says, or an OSError as it reads them.

    Django makes it an ``UnreadablePostError``, with which a form is refused.

    Args:
        application: what answers.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answers the request."""
        length = environ.get("CONTENT_LENGTH") or "0"
        if length != "0" and length.isdigit() and "HTTP_TRANSFER_ENCODING" not in environ:
            environ["wsgi.input"] = _DeclaredBody(environ["wsgi.input"], length=int(length))
        return self._application(environ, start_response)


class _DeclaredBody:
    """A request's body of known length."""

    def __init__(self, file: Any, *, length: int) -> None:
        self._file = file
        self._left = length

    def read(self, size: int = -1) -> bytes:
        missing = self._left if size < 0 else min(size, self._left)
        parts = []
        while missing > 0:
            part = self._take(self._file.read(missing))
            missing -= len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readline(self, size: int = -1) -> bytes:
        most = self._left if size < 0 else min(size, self._left)
        return self._take(self._file.readline(most)) if most > 0 else b""

    def readlines(self, hint: int = -1) -> list[bytes]:
        del hint
        return list(self)

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            yield line

    def _take(self, part: bytes) -> bytes:
        if not part:
            raise OSError(f"the body was cut short: {self._left} bytes did not come")
        self._left -= len(part)
        return part
