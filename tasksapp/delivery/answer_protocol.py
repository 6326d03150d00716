"""aiohttp's protocol, with a bound on what a receiver can make the event loop parse in one turn."""

from __future__ import annotations

from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

#: How much is parsed before the answers in it are counted. A read may bring 256 KB, which hold 14 000 answers of 18
#: bytes: parsing them took 125 ms, during which no other callback of the process went on. Here it is at most 2 ms.
SLICE_BYTES = 4_096
#: Parsed answers that may wait to be read; a request has one, and seldom an interim answer before it.
MAX_UNREAD_ANSWERS = 100


class AnswerProtocol(ResponseHandler):
    """Parses what a receiver sends; closes the connection once more than 100 answers wait to be read."""

    def data_received(self, data: bytes) -> None:
        """Parses the data; called by the event loop."""
        start = 0
        # A body that is read slowly pauses the parser, which then keeps the rest for itself.
        while len(data) - start > SLICE_BYTES and not self._reading_paused:
            super().data_received(data[start : start + SLICE_BYTES])
            start += SLICE_BYTES
            if self._exception is not None or self._floods():
                return
        super().data_received(data[start:] if start else data)
        self._floods()

    def _floods(self) -> bool:
        if len(self._buffer) <= MAX_UNREAD_ANSWERS:
            return False
        if self.transport is not None:
            self.transport.close()
        self.set_exception(HttpProcessingError(message=f"more than {MAX_UNREAD_ANSWERS} answers to one request"))
        return True
