"""Sites that are measured in turns or at once: each in a process of its own, with its own rig."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

Answers = Mapping[str, Callable[..., Any]]
Made = AbstractContextManager[Answers]

#: What a site is given to do what it was asked last and to end its servers.
END_SECONDS = 120.0


class Site:
    """A site in a process of its own. What it is asked it does there, and gives back what came out.

    Args:
        make: makes the site in its process, and gives what it can be asked, by name; a function of a module.
        core: the only core that all of its processes may use; None: those that a rig gives them.
        options: for ``make``.
    """

    def __init__(self, make: Callable[..., Made], *, core: int | None = None, **options: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=_answer, args=(there, make, options))
        allowed = os.sched_getaffinity(0)
        if core is not None:
            os.sched_setaffinity(0, {core})  # what is started has it too
        self._process.start()
        os.sched_setaffinity(0, allowed)
        there.close()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pipe.close()  # after an error, too: a process that is killed leaves its servers behind
        self._process.join(END_SECONDS)
        if self._process.is_alive():
            print(f"site {self._process.pid} did not end, its servers may still run", file=sys.stderr)
            self._process.kill()

    def begin(self, name: str, **values: Any) -> None:
        """Asks, and does not wait."""
        self._pipe.send((name, values))

    def end(self) -> Any:
        """Waits for what came out."""
        return self._pipe.recv()

    def ask(self, name: str, **values: Any) -> Any:
        """Asks, and waits."""
        self.begin(name, **values)
        return self.end()


def _answer(pipe: Connection, make: Callable[..., Made], options: Mapping[str, Any]) -> None:
    os.environ.pop("DATABASE_URL", None)  # each has a server of its own
    with make(**options) as answers:
        while asked := _received(pipe):
            name, values = asked
            found = answers[name](**values)
            with contextlib.suppress(ConnectionError):  # who asked has ended
                pipe.send(found)


def _received(pipe: Connection) -> Any:
    """What comes next; None once the other end is closed."""
    try:
        return pipe.recv()
    except (EOFError, ConnectionError):
        return None
