"""Programs of a Django project that start at once: forks of a process that has imported the libraries they need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

#: What costs most at the start of a project with DelayHub, and looks at no settings while it is imported.
LIBRARIES = (
    "aiohttp", "celery.app.amqp", "celery.app.control", "celery.app.trace", "celery.canvas", "celery.fixups.django",
    "celery.result", "celery.schedules", "cryptography.fernet", "django.core.checks", "django.core.management",
    "django.core.management.commands.check", "django.db.backends.sqlite3.base", "django.db.models", "django.forms",
    "django.http", "django.template.defaulttags", "django.template.loader_tags", "django.test", "django.urls",
    "django.utils.translation.trans_real", "django.views.generic", "jsonschema", "kombu.transport.redis",
    "prometheus_client", "psycopg", "redis.asyncio", "redis.sentinel", "requests", "standardwebhooks", "structlog",
    "yaml",
)  # fmt: skip

#: Reads what to run, a JSON line each; answers with the exit code.
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
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    said = os.open(wanted["output"], os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
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
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
"""


class WarmPython:
    """Runs programs as ``python program`` does, without the seconds in which Python imports libraries."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", _PARENT.format(libraries=LIBRARIES)]
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._answer() == "warm"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parent.communicate()

    def hear(self, words: list[str], *, folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
        """The exit code of a program in that folder, and all that it says."""
        output = folder / "said.txt"
        wanted = {"words": words, "folder": str(folder), "environment": dict(environment), "output": str(output)}
        assert self._parent.stdin is not None
        self._parent.stdin.write(json.dumps(wanted) + os.linesep)
        self._parent.stdin.flush()
        return int(self._answer()), output.read_text()

    def _answer(self) -> str:
        assert self._parent.stdout is not None
        return self._parent.stdout.readline().strip()
