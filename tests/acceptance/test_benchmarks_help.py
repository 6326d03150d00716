"""All benchmarks and chaos runs can be imported, and say what they may be asked; what they do runs at night."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.run import runs
from tests.repository import ROOT, python_files

#: Imports each module, in a fork of one process that has imported what most of them need; a run is asked for its help.
HELP_OF_ALL = """
import importlib, os, sys, traceback
import aiohttp, celery.app.amqp, django.db.models, psycopg, redis, delayhub.transport
from benchmarks import run
asked = {{path.stem: [kind, name] for kind in ("bench", "chaos") for name, path in run.runs(kind).items()}}
wrong = []
for name in {modules!r}:
    sys.stdout.flush()
    if child := os.fork():
        if os.waitpid(child, 0)[1]:
            wrong.append(name)
        continue
    code = 0
    try:
        if name in asked:
            run.main(["run", *asked[name], "--help"])
        else:
            importlib.import_module("benchmarks." + name)
    except SystemExit as end:
        code = 1 if end.code else 0
    except KeyError as missing:
        code = int(not missing.args[0].isupper())  # what others start, with variables that name a folder or a broker
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)
sys.exit("cannot be asked: " + ", ".join(wrong) if wrong else 0)
"""


@pytest.mark.check
def test_each_can_be_imported_and_says_what_it_may_be_asked() -> None:
    modules = [path.stem for path in python_files("benchmarks")]
    asked = [path for kind in ("bench", "chaos") for path in runs(kind).values()]

    found = subprocess.run(
        [sys.executable, "-c", HELP_OF_ALL.format(modules=modules)],
        cwd=ROOT, capture_output=True, text=True, timeout=270, check=False,
    )  # fmt: skip

    assert found.returncode == 0, found.stdout[-2000:] + found.stderr
    assert found.stdout.count("show this help message and exit") == len(asked) > 15
