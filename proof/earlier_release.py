"""The scripts of an earlier release, which some in a history run where others run those of this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from delayhub.engine.scripts import names, script
from proof.quick_redis import QuickRedis
from proof.virtual_time import by_the_runs_clock
from tests.repository import ROOT

#: What a command line says for the last release.
LAST = "last"
#: Prints the source of each script of the release whose package is imported.
_DUMP = (
    "import json; from delayhub.engine.scripts import names, script;"
    "print(json.dumps({name: script(name).source for name in names()}))"
)


class EarlierRelease:
    """A client of one who still has an earlier release: what it calls by name are the scripts of that.

    They get what this release gives to its own; a verb that the earlier one does not have is this release's.

    Args:
        client: its connection.
        sources: its scripts, by the names of their verbs.
    """

    def __init__(self, client: QuickRedis, sources: Mapping[str, str]) -> None:
        self._client = client
        known = sources.keys() & set(names())
        self._theirs = {script(name).sha: by_the_runs_clock(sources[name]) for name in known}

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """The command's reply."""
        if args[0] == "EVALSHA" and (source := self._theirs.get(args[1])):
            args = ("EVAL", source, *args[2:])
        return self._client.execute_command(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def last_release() -> str:
    """The tag of the last release; the last commit where none was made, or this clone has no tags."""
    asked = ["git", "describe", "--tags", "--abbrev=0", "--match", "v*"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, check=False, text=True).stdout.strip()
    return found or "HEAD"


def tree_of(ref: str, folder: Path) -> Path:
    """The files of a commit, in a folder of their own."""
    folder.mkdir()
    packed = subprocess.run(["git", "archive", ref, "delayhub"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
    return folder


def scripts_of(ref: str) -> dict[str, str]:
    """The source of each verb of a release, named by its commit, or :data:`LAST`."""
    with tempfile.TemporaryDirectory() as folder:
        tree = tree_of(last_release() if ref == LAST else ref, Path(folder) / "tree")
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        command = [sys.executable, "-c", _DUMP]
        printed = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=True).stdout
    found: dict[str, str] = json.loads(printed)
    return found
