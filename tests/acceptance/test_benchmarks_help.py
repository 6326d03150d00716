"""All benchmarks and chaos runs can be imported, and say what they may be asked; what they do runs at night."""

from __future__ import annotations

import subprocess
import sys

from tests.repository import ROOT, python_files

#: Imports each module, in a fork of one process that has imported what most of them need; or asks it for its help.
HELP_OF_ALL = """
import importlib, os, runpy, sys, traceback
import aiohttp, celery.app.amqp, django.db.models, psycopg, redis, delayhub.transport
wrong = []
for name in {modules!r}:
    sys.stdout.flush()
    if child := os.fork():
        if os.waitpid(child, 0)[1]:
            wrong.append(name)
        continue
    sys.argv = [name, "--help"]
    sys.path.insert(0, "benchmarks")  # as where its file is run
    code = 0
    try:
        if name in {asked!r}:
            runpy.run_module("benchmarks." + name, run_name="__main__")
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


def test_each_can_be_imported_and_says_what_it_may_be_asked() -> None:
    modules = [path.stem for path in python_files("benchmarks")]
    asked = [name for name in modules if "add_argument" in (ROOT / f"benchmarks/{name}.py").read_text()]

    found = subprocess.run(
        [sys.executable, "-c", HELP_OF_ALL.format(modules=modules, asked=asked)],
        cwd=ROOT, capture_output=True, text=True, timeout=270, check=False,
    )  # fmt: skip

    assert found.returncode == 0, found.stdout[-2000:] + found.stderr
    assert found.stdout.count("show this help message and exit") == len(asked) > 20
