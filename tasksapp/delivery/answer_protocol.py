"""aiohttp's protocol, with bounds on what receivers can make the event loop parse: in one turn, and for one answer.

It also finds the status of an answer whose headers aiohttp refuses: aiohttp gives nothing of such an answer.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from typing import Any, Protocol

from aiohttp import ClientPayloadError
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from delayhub.clock import Clock, SystemClock

#: What parsing may take of one turn. A thousand connections may have something to parse in the same turn; each callback
#: that is to be sent then waits for all of them, in each of the three or four turns that it needs.
TURN_SECONDS = 0.005


class Parses(Protocol):
    """A connection whose data waits to be parsed."""

    def parse_slice(self) -> bool: ...

    def resume(self) -> None: ...


class ParsingTurns:
    """Gives each turn of the loop its time for parsing; what has no room waits for the next, in a circle.

    Args:
        loop: the event loop.
        clock: tells the time.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, clock: Clock | None = None) -> None:
        self._loop = loop
        self._monotonic = (clock or SystemClock()).monotonic
        self._has_begun = False
        self._ends = 0.0
        self._waiting: deque[Parses] = deque()

    def has_time(self) -> bool:
        """Whether more may be parsed in this turn; the first to ask may in any case."""
        if self._has_begun:
            return self._monotonic() < self._ends
        self._has_begun = True
        self._ends = self._monotonic() + TURN_SECONDS
        self._loop.call_soon(self._begin_next)
        return True

    def wait(self, connection: Parses) -> None:
        """Lets a connection wait for a later turn; it reads on when all it has is parsed."""
        self._waiting.append(connection)

    def _begin_next(self) -> None:
        self._has_begun = False
        while self._waiting and self.has_time():
            connection = self._waiting.popleft()
            if connection.parse_slice():
                self._waiting.append(connection)
            else:
                connection.resume()


#: How much is parsed before the answers in it are counted. A read may bring 256 KB, which hold 14 000 answers of 18
#: bytes: parsing them took 125 ms, during which no other callback of the process went on. Here it is at most 2 ms.
SLICE_BYTES = 4_096
#: Parsed answers that may wait to be read; a request has one, and seldom an interim answer before it.
MAX_UNREAD_ANSWERS = 100
#: What one answer may have beside four times the body that is read of it. Without a bound, a receiver can send what is
#: parsed and never ends, such as empty lines before the answer or a chunk's extensions, until the timeout: ten such
#: callbacks at once took all the time of the event loop.
MAX_ANSWER_BYTES = 1_048_576
#: Longer header lines and more headers are refused: eight times what aiohttp bears, which some proxies exceed.
MAX_FIELD_BYTES, MAX_FIELDS = 65_536, 1_000
#: So much of the beginning of an answer is searched for its status line: it can have a long reason phrase and interim
#: answers before it.
HEAD_BYTES = 32_768
#: Whole interim answers, and then a whole status line. An interim answer that is not whole is not skipped.
_STATUS_LINE = re.compile(
    rb"[\r\n]*+(?:HTTP/1\.[01] 1(?!01)\d\d\b[^\r\n]*+\r?\n(?:[^\r\n]++\r?\n)*+\r?\n)*+"
    rb"HTTP/1\.[01] (101|[2-9]\d\d)(?: [^\0\r\n]*+)?\r?\n"
)


class AnswerProtocol(ResponseHandler):
    """Parses what a receiver sends, in slices and within the turns of the loop.

    Closes the connection once more than 100 answers wait to be read, or one has more than ``MAX_ANSWER_BYTES``.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, turns: ParsingTurns) -> None:
        super().__init__(loop)
        self._turns = turns
        #: What was read and not parsed yet, and where it goes on.
        self._rest, self._offset = b"", 0
        self._bytes_left = MAX_ANSWER_BYTES
        self._head = bytearray()

    def set_response_params(self, **options: Any) -> None:
        """Prepares for the answer to the next request; called by the connection."""
        self._bytes_left = MAX_ANSWER_BYTES + 4 * int(options["read_bufsize"])
        self._head = bytearray()
        super().set_response_params(
            **options, max_line_size=MAX_FIELD_BYTES, max_field_size=MAX_FIELD_BYTES, max_headers=MAX_FIELDS
        )

    @property
    def received_status(self) -> int | None:
        """The status of the answer, also if its headers cannot be parsed; None without a complete status line."""
        found = _STATUS_LINE.match(self._head)
        return None if found is None else int(found[1])

    @property
    def should_close(self) -> bool:
        """Whether the connection cannot be used again."""
        return bool(self._rest) or super().should_close

    def data_received(self, data: bytes) -> None:
        """Parses the data, what the turn has no time for in later turns; called by the event loop."""
        self._bytes_left -= len(data)
        if len(self._head) < HEAD_BYTES:
            self._head += data[: HEAD_BYTES - len(self._head)]
        if not data:
            # aiohttp's way to let a paused parser go on.
            super().data_received(data)
        elif self._bytes_left < 0:
            self._refuse("the answer is too long")
        elif self._rest:
            # Reading is paused meanwhile, but aiohttp resumes it when a body was read.
            self._rest, self._offset = self._rest[self._offset :] + data, 0
            self._pause()
        elif len(data) <= SLICE_BYTES and self._turns.has_time():
            super().data_received(data)
            self._floods()
        else:
            self._rest, self._offset = data, 0
            while self._rest and self._turns.has_time():
                self.parse_slice()
            if self._rest:
                self._pause()
                self._turns.wait(self)

    def parse_slice(self) -> bool:
        """Parses a part of what waits; whether something still waits."""
        if self._exception is not None or self.transport is None or self.transport.is_closing():
            self._rest = b""
            return False
        # A body that is read slowly pauses the parser, which then keeps the rest for itself.
        end = len(self._rest) if self._reading_paused else self._offset + SLICE_BYTES
        part = self._rest[self._offset : end]
        self._offset = end
        if end >= len(self._rest):
            self._rest = b""
        super().data_received(part)
        if self._floods():
            self._rest = b""
        return bool(self._rest)

    def resume(self) -> None:
        """Reads on, after all that waited was parsed."""
        if self.transport is not None and not self._reading_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def _pause(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    def _floods(self) -> bool:
        if len(self._buffer) <= MAX_UNREAD_ANSWERS:
            return False
        self._refuse(f"more than {MAX_UNREAD_ANSWERS} answers to one request")
        return True

    def _refuse(self, message: str) -> None:
        self._rest = b""
        if self.transport is not None:
            self.transport.close()
        if self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(ClientPayloadError(message))
        if self._exception is None:
            self.set_exception(HttpProcessingError(message=message))
