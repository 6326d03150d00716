"""What `import delayhub.client` brings, and that all of it is typed."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from venv import EnvBuilder

import pytest

import delayhub.client
from tests.repository import ROOT


def test_the_public_names_are_there_and_say_what_they_are() -> None:
    names = delayhub.client.__all__

    assert names == sorted(names)
    for name in names:
        value = getattr(delayhub.client, name)
        assert not inspect.isclass(value) or inspect.getdoc(value), name


def test_the_client_brings_in_neither_django_nor_celery() -> None:
    code = "import sys, delayhub.client; print(*{name.partition('.')[0] for name in sys.modules})"

    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)

    assert not {"django", "celery", "rest_framework", "aiohttp", "tasksapp"} & set(loaded.stdout.split())


@pytest.mark.slow
@pytest.mark.check
def test_all_public_names_of_a_wheel_are_typed(tmp_path: Path) -> None:
    # Pyright looks at what is installed, and does not see an editable installation: the wheel gets an environment of
    # its own, to which ours lends the libraries.
    built = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path]
    subprocess.run(built, cwd=ROOT, check=True, capture_output=True, timeout=60)
    (wheel,) = tmp_path.glob("*.whl")
    EnvBuilder(symlinks=True).create(tmp_path / "venv")
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib"))

    # With --verifytypes Pyright takes the environment of the `python` that it finds first, and no other.
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--ignoreexternal", "--verifytypes", "delayhub.client"],
        env={**os.environ, "PATH": f"{tmp_path}/venv/bin{os.pathsep}{os.environ['PATH']}"},
        cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip

    found = json.loads(checked.stdout)["typeCompleteness"]
    unknown = [symbol["name"] for symbol in found["symbols"] if symbol["isExported"] and not symbol["isTypeKnown"]]
    assert unknown == []
    assert found["completenessScore"] == 1, found
    assert found["packageRootDirectory"] == str(packages / "delayhub")
    assert found["exportedSymbolCounts"]["withKnownType"] > 200
