"""Loaded by Python before anything else, in processes that tests start: they see what an installation of users has.

redis-py and structlog import packages that only developers have here, wherever they find them: a sixth of the start of
each worker and web server.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

#: The command line has rich, servers have not.
SERVERS = {"beat", "granian", "worker"}
HIDDEN = {"opentelemetry.sdk"} | ({"rich"} if SERVERS & set(sys.orig_argv) else set())


class Hiding:
    """The first finder of modules: it says that the hidden ones are not installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """None, so that the others look; or the error of a package that is missing."""
        del path, target
        if name in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


sys.meta_path.insert(0, Hiding())  # type: ignore[arg-type]  # a finder needs nothing else
