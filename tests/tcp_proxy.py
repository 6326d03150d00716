"""A TCP proxy in this process whose connections can be cut, slowed down, or left open with nothing coming over them."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from types import TracebackType
from typing import Self


class TcpProxy:
    """Passes connections on to a port of this machine.

    Args:
        target: the port to pass on to.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.stalled = threading.Event()
        self._ends_lock = threading.Lock()  # connections are taken in one thread and cut in another
        self._ends: set[socket.socket] = set()
        self._mute: set[socket.socket] = set()
        self._slow_by = 0.0
        self._slow_until = 0.0
        #: Connections that were cut in place of a reply.
        self.lost_replies = 0
        self._loss = 0.0
        self._dice = random.Random(1)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._closed = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._listener.close()
        self.cut()

    def cut(self) -> int:
        """How many connections were cut; new ones are passed on again."""
        with self._ends_lock:
            cut, self._ends = self._ends, set()
            self._mute = set()
        for end in cut:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        return len(cut) // 2

    def mute(self) -> int:
        """How many connections are half-open from now on: nothing comes over them any more. New ones work."""
        with self._ends_lock:
            self._mute = set(self._ends)
        return len(self._mute) // 2

    def slow_down(self, delay: float, *, seconds: float) -> None:
        """Whatever is sent comes so much later, for so long."""
        self._slow_by, self._slow_until = delay, time.monotonic() + seconds

    def lose_replies(self, chance: float) -> None:
        """From now on the connection is cut in place of a reply, with this chance; what was asked for has been done."""
        self._loss = chance

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._listener.accept()
            except OSError:
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._ends_lock:
                self._ends |= {near, far}
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                while self.stalled.is_set() and not self._closed:
                    threading.Event().wait(0.01)
                if time.monotonic() < self._slow_until:
                    time.sleep(self._slow_by)  # it stands for a slow network
                if self._loss and source.getpeername()[1] == self.target and self._dice.random() < self._loss:
                    self.lost_replies += 1
                    break
                if source not in self._mute:
                    sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
