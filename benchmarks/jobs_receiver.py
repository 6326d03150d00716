"""The receiver that benchmarks and chaos runs call: prints its port, answers, writes down every callback.

``/slow…`` is answered 204 after ten seconds, all else at once. A line of the log is: when it came in (Unix µs), the
job's id, the path, when it was due. One system call a line, so that a kill -9 loses none.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import cast

import uvloop

SLOW_SECONDS = 10.0
TAKEN = b"HTTP/1.1 204 No Content\r\n\r\n"


class Receiver(asyncio.Protocol):
    """One connection."""

    log: int

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            line, *rest = self.buffer[:end].split(b"\r\n")
            headers = dict(header.lower().split(b": ", 1) for header in rest)
            size = end + 4 + int(headers.get(b"content-length", b"0"))
            if len(self.buffer) < size:
                return
            self.buffer = self.buffer[size:]
            self.take(line.split(b" ")[1], headers)

    def take(self, path: bytes, headers: dict[bytes, bytes]) -> None:
        now = time.time_ns() // 1000
        fields = (b"%d" % now, headers.get(b"webhook-id", b"-"), path, headers.get(b"delayhub-due-at", b"-").upper())
        os.write(self.log, b" ".join(fields) + b"\n")
        if path.startswith(b"/slow"):
            asyncio.get_running_loop().call_later(SLOW_SECONDS, self.answer)
        else:
            self.answer()

    def answer(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(TAKEN)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    Receiver.log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    uvloop.run(serve())
