"""What a release needs: files that can be made again, a changelog with dates, workflows that call make."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
import yaml

from delayhub import __version__
from tests.distribution import NotReleasable, build_twice, check_tag, released
from tests.repository import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()


def test_two_builds_of_one_commit_are_the_same_bytes_and_hold_no_more_than_they_should(tmp_path: Path) -> None:
    files = build_twice(tmp_path)

    wheel = next(content for name, content in files.items() if name.endswith(".whl"))
    sdist = next(content for name, content in files.items() if name.endswith(".tar.gz"))
    assert set(files) == {f"delayhub-{__version__}-py3-none-any.whl", f"delayhub-{__version__}.tar.gz"}
    in_wheel = {Path(name).parts[0] for name in zipfile.ZipFile(BytesIO(wheel)).namelist()}
    assert in_wheel == {"delayhub", "tasksapp", f"delayhub-{__version__}.dist-info"}
    with tarfile.open(fileobj=BytesIO(sdist)) as opened:
        in_sdist = {Path(member.name).name for member in opened}
    assert {"pyproject.toml", "LICENSE", "README.md", "PKG-INFO"} <= in_sdist


def test_two_builds_that_differ_are_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tests.distribution.build", lambda folder, umask, **_: {"a.whl": b"same", "a.tar.gz": str(umask).encode()}
    )

    with pytest.raises(NotReleasable, match=r"two builds differ in a\.tar\.gz$"):
        build_twice(tmp_path)


def test_the_version_is_in_the_changelog_with_its_day() -> None:
    check_tag(f"v{__version__}", version=__version__, changelog=CHANGELOG)

    assert next(iter(released(CHANGELOG))) == __version__


@pytest.mark.parametrize(
    ("tag", "changelog", "why"),
    [
        ("v0.2.0", "## 0.1.0 (2026-01-01)", "the tag is v0.2.0"),
        ("v0.1.0", "## 0.1.0, unreleased", "no section 0.1.0 with a day"),
    ],
)
def test_a_tag_that_names_no_release_is_refused(tag: str, changelog: str, why: str) -> None:
    with pytest.raises(NotReleasable, match=why):
        check_tag(tag, version="0.1.0", changelog=changelog)


def test_pieces_of_the_next_changelog_can_be_put_together(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9", "--date", "2026-01-02"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "## 9.9.9 (2026-01-02)" in done.stdout
    assert released(done.stdout) == {"9.9.9": "2026-01-02"}
    kinds = {kind["directory"] for kind in towncrier()["type"]}
    wrong = [
        path.name
        for path in (ROOT / "changelog.d").iterdir()
        if path.name != "README.md" and not re.fullmatch(rf"\+?[\w-]+\.({'|'.join(kinds)})\.md", path.name)
    ]
    assert wrong == []


def towncrier() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_make_and_pinned_actions_only(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    steps = [step for job in jobs for step in job["steps"]]

    assert [
        step["run"] for step in steps if "run" in step and not step["run"].startswith(("make ", "sudo apt-get "))
    ] == []
    assert [
        step["uses"] for step in steps if not re.fullmatch(r"\S+@[0-9a-f]{40}", step.get("uses", "a@" + "0" * 40))
    ] == []
    assert [job for job in jobs if "permissions" not in job or "timeout-minutes" not in job] == []


def test_workflows_call_commands_that_there_are() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {name for path in WORKFLOWS for name in re.findall(r"run: make ([a-z-]+)", path.read_text())}

    assert len(called) >= 4
    assert called <= targets


def test_the_pythons_that_are_tested_are_those_that_the_package_names() -> None:
    matrix = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["test"]["strategy"]["matrix"][
        "python"
    ]

    named = re.findall(r"Programming Language :: Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert matrix == named


def test_the_container_of_developers_installs_what_tests_need() -> None:
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    wanted = re.findall(r"\binstall ([a-z][a-z-]+) ", (ROOT / ".ci/run").read_text())

    assert len(wanted) == 5
    assert [name for name in wanted if name not in container["onCreateCommand"]] == []
    assert container["postCreateCommand"] == "make .venv/.dev .venv/.node"
