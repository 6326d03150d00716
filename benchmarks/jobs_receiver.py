"""The receiver that benchmarks and chaos runs call: prints its port, answers by path, writes down every callback.

``/ok…`` is answered 204, ``/fail…`` 500, ``/slow…`` 204 after ten seconds, ``/wait50`` after 50 ms. A line of the log
is: when it came in (Unix µs), the job's id, the path, when it was due. One system call a line, so that a kill -9 loses
none.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import cast

import uvloop

SLOW_SECONDS = 10.0
ANSWERS = {b"/fail": b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"}
WAIT = b"/wait"
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
            asyncio.get_running_loop().call_later(SLOW_SECONDS, self.answer, TAKEN)
        elif path.startswith(WAIT):
            asyncio.get_running_loop().call_later(int(path.removeprefix(WAIT)) / 1000, self.answer, TAKEN)
        else:
            self.answer(next((answer for start, answer in ANSWERS.items() if path.startswith(start)), TAKEN))

    def answer(self, response: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(response)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    Receiver.log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    uvloop.run(serve())
