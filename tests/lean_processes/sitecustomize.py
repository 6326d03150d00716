"""Loaded by Python before anything else, in processes that tests start: they see what an installation of users has.

redis-py, structlog, Celery and Django REST framework import packages that only developers have here, wherever they find
them: a fifth of the start of each worker and web server.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib.machinery import ModuleSpec

#: The last one is what Granian starts its own processes with.
WEB_SERVERS = {"granian", "--multiprocessing-fork"}
SERVERS = {"beat", "worker"} | WEB_SERVERS


def hidden(words: set[str]) -> set[str]:
    """What a process with such a command line does not see; the command line has rich, servers have not."""
    found = {"opentelemetry.sdk"}
    if words & SERVERS:
        found |= {"flower", "jinja2", "markdown", "pygments", "rich"}
    if words & WEB_SERVERS:
        found |= {"requests"}
    return found


HIDDEN = hidden(set(sys.orig_argv))


class Hiding:
    """The first finder of modules: it says that the hidden ones are not installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """None, so that the others look; or the error of a package that is missing."""
        del path, target
        if name in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


if os.environ.get("DELAYHUB_TESTS_COLLECT") == "never":
    gc.disable()  # what is left in reference cycles then shows

sys.meta_path.insert(0, Hiding())  # type: ignore[arg-type]  # a finder needs nothing else
