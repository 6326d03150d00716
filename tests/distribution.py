"""Makes what a release is made of, and proves that it can be made again: ``make dist``.

Wheel and sdist of the commit are built twice, in folders of other names and with other permissions and times; the wheel
is built from the sdist, as installers do. Both runs must give the same bytes. Then the wheel is installed with all that
the ready-made project needs, in the versions of ``constraints.txt``, and a list of these packages is written: an SBOM
in CycloneDX's format.

    python -m tests.distribution               # into var/dist
    python -m tests.distribution --tag v0.1.0  # and the tag must name the version, which the changelog has with its day
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from delayhub import __version__
from tests.repository import ROOT

MADE = ROOT / "var" / "dist"
#: What differs between the two builds: the umask, and how long ago the files were written.
BUILDS = ((0o022, 0), (0o077, 400 * 86_400))
LONGEST_SECONDS = 600


class NotReleasable(Exception):
    """What this commit lacks."""


def released(changelog: str) -> dict[str, str]:
    """The versions of a changelog, each with the day of its release."""
    return dict(re.findall(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)$", changelog, re.MULTILINE))


def check_tag(tag: str, *, version: str, changelog: str) -> None:
    """Raises NotReleasable unless the tag names the version, and the changelog says what it brings and when it came."""
    if tag != f"v{version}":
        raise NotReleasable(f"the tag is {tag}, but delayhub.__version__ is {version}")
    if version not in released(changelog):
        raise NotReleasable(f"CHANGELOG.md has no section {version} with a day")


def build_twice(folder: Path, *, commit: str = "HEAD") -> dict[str, bytes]:
    """The files of a release, by their names.

    Raises:
        NotReleasable: a second build gave other bytes.
    """
    first, second = (
        build(folder / str(number), commit=commit, umask=umask, older_seconds=older)
        for number, (umask, older) in enumerate(BUILDS)
    )
    different = [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)]
    if different:
        raise NotReleasable(f"two builds differ in {', '.join(sorted(different))}")
    return first


def build(folder: Path, *, commit: str, umask: int, older_seconds: int) -> dict[str, bytes]:
    """One build of a commit in a new folder, with what git has and nothing else that lies around."""
    source, built = folder / f"source-{umask:o}", folder / "built"
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True, timeout=60).stdout
    source.mkdir(parents=True)
    subprocess.run(["tar", "--extract"], cwd=source, input=archive, check=True, timeout=60, umask=umask)
    for path in source.rglob("*"):
        seconds = path.stat().st_mtime - older_seconds
        os.utime(path, (seconds, seconds))
    committed = subprocess.run(
        ["git", "log", "-1", "--format=%ct", commit], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()
    _hatch(source, "sdist", built, epoch=committed, umask=umask)
    (sdist,) = built.glob("*.tar.gz")
    unpacked = folder / "unpacked"
    unpacked.mkdir()
    subprocess.run(
        ["tar", "--extract", "--file", str(sdist), "--strip-components=1"], cwd=unpacked, check=True, timeout=60
    )
    _hatch(unpacked, "wheel", built, epoch=committed, umask=umask)
    return {path.name: path.read_bytes() for path in built.iterdir() if path.suffix in {".gz", ".whl"}}


def _hatch(source: Path, target: str, built: Path, *, epoch: str, umask: int) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(built)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    subprocess.run(
        command, cwd=source, env=environment, check=True, capture_output=True, timeout=LONGEST_SECONDS, umask=umask
    )


def write_sbom(wheel: Path, path: Path) -> None:
    """Writes the list of what an installation of the ready-made project holds, with versions and licences."""
    with tempfile.TemporaryDirectory() as folder:
        site, tool = Path(folder) / "site", Path(folder) / "tool"  # else the list names what the tool brings
        for place, wanted in ((site, f"{wheel}[standalone]"), (tool, "cyclonedx-bom")):
            venv.create(place, with_pip=True)
            pip = [place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run(
                [*pip, wanted, "--constraint", ROOT / "constraints.txt"], check=True, timeout=LONGEST_SECONDS
            )
        subprocess.run(
            [
                tool / "bin/cyclonedx-py", "environment", "--output-reproducible", "--output-file", path,
                "--pyproject", ROOT / "pyproject.toml", site / "bin/python",
            ],
            check=True, timeout=LONGEST_SECONDS,
        )  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.distribution")
    parser.add_argument("--tag", default="")
    given = parser.parse_args(arguments)
    try:
        if given.tag:
            check_tag(given.tag, version=__version__, changelog=(ROOT / "CHANGELOG.md").read_text())
        with tempfile.TemporaryDirectory() as folder:
            files = build_twice(Path(folder))
    except NotReleasable as wrong:
        print(f"No release: {wrong}.", file=sys.stderr)
        return 1
    shutil.rmtree(MADE, ignore_errors=True)
    packages = MADE / "packages"  # what is uploaded, and nothing else
    packages.mkdir(parents=True)
    for name, content in files.items():
        (packages / name).write_bytes(content)
        print(f"{hashlib.sha256(content).hexdigest()}  {name}  (built twice, the same)")
    (wheel,) = packages.glob("*.whl")
    write_sbom(wheel, MADE / "sbom.json")
    print(f"{MADE.relative_to(ROOT)}/sbom.json lists what the ready-made project installs")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
