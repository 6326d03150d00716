"""A process of a site, with a log file for its output."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from delayhub.clock import SystemClock
from delayhub.errors import ServiceDied
from delayhub.local.data_folder import PRIVATE_UMASK, private_file
from delayhub.local.parent_death import ending_with_parent

#: What ended is told at once; this is for what hangs. On a machine at load 35 a start takes more than a minute.
START_SECONDS = 300.0
STOP_SECONDS = 20.0
LOG_TAIL_LINES = 20
LOG_TAIL_BYTES = 20_000


class Service:
    """A program that runs until :meth:`stop`, in a process group of its own.

    The terminal sends a Ctrl-C to the site's process group only; the site then ends its services one after another. If
    the site is killed, the kernel sends SIGTERM to the service (on Linux), unless it is to go on.

    Args:
        name: what messages call it.
        command: the program and its arguments.
        environment: all its environment variables.
        log: the file to which its output is appended.
        inherit: descriptors of open files that it inherits.
        is_ready: whether it serves yet; asked every 0.1 s, and may raise OSError for "no".
        ends_with_parent: whether it ends with the thread that started it, even when that is killed (on Linux).
    """

    #: How often it is looked whether it is ready.
    look_seconds = 0.1

    def __init__(
        self,
        name: str,
        *,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        inherit: Sequence[int] = (),
        is_ready: Callable[[], bool],
        ends_with_parent: bool = True,
    ) -> None:
        self.name = name
        self.log = log
        self.command = list(command)
        self.inherit = tuple(inherit)
        self._environment = dict(environment)
        self._ends_with_parent = ends_with_parent
        self._is_ready = is_ready
        self._process: subprocess.Popen[bytes] | None = None
        self._clock = SystemClock()
        self._launched_at = 0.0

    def launch(self) -> None:
        """Starts the process and returns at once; see :meth:`wait_until_ready`."""
        self._launched_at = self._clock.monotonic()
        # The log holds what the program prints, and its files what it stores: both are for their owner only.
        with private_file(self.log) as output:
            self._process = subprocess.Popen(
                ending_with_parent(self.command) if self._ends_with_parent else self.command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=self.inherit,
                process_group=0,
                umask=PRIVATE_UMASK,
            )

    def wait_until_ready(self) -> None:
        """Returns when the service is ready.

        Raises:
            ServiceDied: it ended before, or was not ready within five minutes.
        """
        deadline = self._clock.monotonic() + START_SECONDS
        process = self._process
        assert process is not None
        while not self._answers():
            self.check()
            if self._clock.monotonic() > deadline:
                raise ServiceDied(self.name, None, self.log_tail())
            try:
                process.wait(self.look_seconds)
            except subprocess.TimeoutExpired:
                continue

    def stop(self) -> None:
        """Ends the process by SIGTERM; by SIGKILL if it still runs after 20 seconds."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends the process and its children by SIGKILL, as a power cut would."""
        self._end(signal.SIGKILL)

    def check(self) -> None:
        """Raises ServiceDied if the process ended by itself; the message has the end of its log."""
        if self._process is not None and self._process.poll() is not None:
            raise ServiceDied(self.name, self._process.returncode, self.log_tail())

    @property
    def seconds_since_launch(self) -> float:
        """Seconds since its process was started."""
        return self._clock.monotonic() - self._launched_at

    @property
    def pid(self) -> int | None:
        """The process id; None unless it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def log_tail(self) -> str:
        """The last lines of the log."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - LOG_TAIL_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
        return "\n".join(lines[-LOG_TAIL_LINES:])

    def _answers(self) -> bool:
        try:
            return self._is_ready()
        except OSError:
            return False

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            try:
                self._send(process, how)
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._send(process, signal.SIGKILL)
                process.wait()
            except KeyboardInterrupt:
                # A second Ctrl-C asks for an end at once, and the process must not be left running.
                self._send(process, signal.SIGKILL)
                process.wait()
                raise

    def _send(self, process: subprocess.Popen[bytes], how: signal.Signals) -> None:
        if how == signal.SIGKILL:
            # A power cut ends children too; the process group's id is that of the process.
            os.killpg(process.pid, how)
        else:
            process.send_signal(how)
