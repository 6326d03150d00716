"""Builds the image of deploy/Dockerfile for real, starts it as the compose file does, and fires jobs: ``make image``.

It needs root, buildah, and what the test of the compose file needs (nginx); no Docker, and nothing that runs beside.
Where the base image cannot be fetched, one is made of Debian's packages by mmdebstrap, under the same name: with a
Python of the same minor version, from Debian 13. Then the test of the compose file runs its web server, worker,
migration and probes in a container of the image, as the image's user: it asks for /livez, and fires jobs.

    python -m tests.image                                           # options of `buildah build` may follow:
    python -m tests.image --volume /etc/pip.conf:/etc/pip.conf:ro   # where pip needs settings to reach an index
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.repository import ROOT

DOCKERFILE = ROOT / "deploy" / "Dockerfile"
#: The release of Debian that has the Python of the base image.
DEBIAN = "trixie"
#: What the base image has and a smallest Debian has not.
PACKAGES = ("python3", "python3-venv", "passwd", "ca-certificates")
LONGEST_SECONDS = 1800


def base_of(dockerfile: str) -> str:
    """The image on which all stages of a Dockerfile stand."""
    (name,) = set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE))
    return name


def buildah(*arguments: str) -> str:
    """What a command of buildah prints."""
    done = subprocess.run(
        ["buildah", *arguments], check=True, stdout=subprocess.PIPE, text=True, timeout=LONGEST_SECONDS, cwd=ROOT
    )
    return done.stdout.strip()


def provide_base(name: str) -> str:
    """The base image, fetched or made; says which."""
    pull = ["buildah", "pull", "--quiet", f"docker.io/library/{name}"]
    if subprocess.run(pull, check=False, capture_output=True).returncode == 0:
        return f"{name}, fetched"
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base.tar"
        link = 'ln -s python3 "$1/usr/bin/python"'
        command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
        subprocess.run([*command, f"--customize-hook={link}", DEBIAN, tree], check=True, timeout=LONGEST_SECONDS)
        container = buildah("from", "scratch")
        buildah("add", "--quiet", container, str(tree), "/")
        buildah("commit", "--quiet", "--rm", container, f"localhost/{name}")
    return f"{name}, made of {DEBIAN} by mmdebstrap"


def main(options: Sequence[str]) -> int:
    base = provide_base(base_of(DOCKERFILE.read_text()))
    # Docker's format, since the other one has no place for the health check.
    how = [
        "--isolation",
        "chroot",
        "--pull-never",
        "--format",
        "docker",
        "--file",
        str(DOCKERFILE),
        "--tag",
        "delayhub",
    ]
    buildah("build", *how, *options, str(ROOT))
    container = buildah("from", "--pull-never", "localhost/delayhub")
    try:
        tested = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/acceptance/test_compose.py"],
            cwd=ROOT,
            env={**os.environ, "DELAYHUB_TEST_CONTAINER": container},
            check=False,
        )
    finally:
        buildah("rm", container)
    (size,) = re.findall(r"\d[\d.]* \w?B", buildah("images", "--format", "{{.Size}}", "localhost/delayhub"))
    said = "FAIL" if tested.returncode else "pass"
    print(f"delayhub: {size}, on {base}; the tests of the compose file {said} in it")
    return tested.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
