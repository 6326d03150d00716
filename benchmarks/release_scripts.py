"""The scripts of a release of the engine, this one or the one before it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import redis
from redis.exceptions import NoScriptError

from tests.repository import ROOT

#: Prints the source of each script of the release whose package is imported.
DUMP = (
    "import json; from delayhub.engine.scripts import names, script;"
    "print(json.dumps({name: script(name).source for name in names()}))"
)


def last_release() -> str:
    """The tag of the last release; the last commit where none was made, or this clone has no tags."""
    asked = ["git", "describe", "--tags", "--abbrev=0", "--match", "v*"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, check=False, text=True).stdout.strip()
    return found or "HEAD"


class Release:
    """The scripts of a release."""

    def __init__(self, client: redis.Redis, sources: dict[str, str]) -> None:
        self.client = client
        self.sources = sources
        self.shas = {name: hashlib.sha1(source.encode()).hexdigest() for name, source in sources.items()}

    def run(self, name: str, keys: list[str], *args: Any) -> Any:
        """The reply of a verb."""
        try:
            return self.client.execute_command("EVALSHA", self.shas[name], len(keys), *keys, *args)
        except NoScriptError:
            return self.client.execute_command("EVAL", self.sources[name], len(keys), *keys, *args)


def sources_of(tree: Path) -> dict[str, str]:
    """The scripts of the release in that folder."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    printed = subprocess.run(
        [sys.executable, "-c", DUMP], cwd=tree, env=environment, capture_output=True, text=True, check=True
    ).stdout
    sources: dict[str, str] = json.loads(printed)
    return sources
