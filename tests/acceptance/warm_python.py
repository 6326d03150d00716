"""Programs that start at once: forks of a process that has imported the libraries they need, and nothing of ours."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.acceptance.typed_commands import DEADLINE_SECONDS, environment

#: What costs most at the start of a worker, and looks at no settings while it is imported.
OF_WORKERS = (
    "celery.app.amqp", "celery.app.control", "celery.app.trace", "celery.apps.worker", "celery.backends.redis",
    "celery.bin.amqp", "celery.bin.control", "celery.bin.worker", "celery.canvas", "celery.concurrency.prefork",
    "celery.concurrency.thread", "celery.events", "celery.result", "celery.schedules", "celery.worker.consumer",
    "kombu.transport.redis", "redis.asyncio", "redis.sentinel",
)  # fmt: skip
#: And at the start of a Django project with DelayHub.
LIBRARIES = (
    *OF_WORKERS, "aiohttp", "celery.fixups.django", "cryptography.fernet", "django.core.checks",
    "django.core.management", "django.core.management.commands.check", "django.db.backends.sqlite3.base",
    "django.db.models", "django.forms", "django.http", "django.template.defaulttags",
    "django.template.loader_tags", "django.test", "django.urls", "django.utils.translation.trans_real",
    "django.views.generic", "jsonschema", "prometheus_client", "psycopg", "requests", "standardwebhooks", "structlog",
    "yaml",
)  # fmt: skip

#: Reads what to run, a JSON line each; answers with the process, and with the exit code of one that is waited for. What
#: is not stays a zombie, so that its number is nobody else's.
_PARENT = """
import gc, importlib, json, os, runpy, sys, traceback
for name in {libraries!r}:
    importlib.import_module(name)
gc.freeze()
print("warm", flush=True)
for line in sys.stdin:
    wanted = json.loads(line)
    child = os.fork()
    if child:
        print(child, flush=True)
        if not wanted["goes_on"]:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    if wanted["goes_on"]:
        os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    said = os.open(wanted["output"], os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    sys.stdout.reconfigure(line_buffering=True)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.argv = wanted["words"]
    sys.path[0] = wanted["folder"]
    code = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    if wanted["goes_on"]:
        sys.exit(code)  # with what it does at its end
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
"""


class WarmPython:
    """Runs programs as ``python program`` does, without the seconds in which Python imports libraries.

    Args:
        libraries: which ones.
        kind: of the programs, as in ``hidden`` of ``tests/lean_processes``: what those do not see.
    """

    def __init__(self, libraries: Sequence[str] = LIBRARIES, *, kind: str = "") -> None:
        command = [sys.executable, "-c", _PARENT.format(libraries=tuple(libraries)), kind]
        # Without a buffer: what waits to be read is in the pipe, where ``select`` sees it.
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self._answer() == "warm"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parent.communicate()

    def hear(
        self, words: list[str], *, folder: Path, environment: Mapping[str, str], until: str | None = None
    ) -> tuple[int, str]:
        """The exit code of a program in that folder, and all that it says; it is ended where it says ``until``."""
        output = folder / "said.txt"
        output.unlink(missing_ok=True)  # of the command before
        process = self._fork(words, folder, environment, output)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not select.select([self._parent.stdout], [], [], 0.05)[0]:
            if until and output.exists() and until in output.read_text():
                os.kill(process, signal.SIGTERM)
                break
            if time.monotonic() > deadline:
                os.kill(process, signal.SIGKILL)
                break
        return int(self._answer()), output.read_text()

    def start(self, words: list[str], *, folder: Path, environment: Mapping[str, str], output: Path) -> int:
        """The number of the process of a program that goes on by itself, in a session of its own."""
        return self._fork(words, folder, environment, output, goes_on=True)

    def typed(self, command: str, *, folder: Path) -> str:
        """What a program of the virtual environment prints and complains of; it must succeed."""
        name, *words = shlex.split(command)
        program = shutil.which(name, path=environment()["PATH"])
        assert program is not None, name
        code, said = self.hear([program, *words], folder=folder, environment=environment())
        assert code == 0, f"{command}\n{said}"
        return said

    def _fork(
        self, words: list[str], folder: Path, environment: Mapping[str, str], output: Path, *, goes_on: bool = False
    ) -> int:
        wanted = {
            "words": words, "folder": str(folder), "environment": dict(environment), "output": str(output),
            "goes_on": goes_on,
        }  # fmt: skip
        assert self._parent.stdin is not None
        self._parent.stdin.write(f"{json.dumps(wanted)}\n".encode())
        return int(self._answer())

    def _answer(self) -> str:
        assert self._parent.stdout is not None
        return self._parent.stdout.readline().decode().strip()
