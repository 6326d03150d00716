"""The peers of ``make bench NAME=rivals``: what each one is, and its own environment with the versions to compare."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.matrix import NotAtHand, python_program
from tests.repository import ROOT

FOLDER = ROOT / "var" / "rivals"
CONSTRAINTS = ROOT / "benchmarks" / "rivals-constraints.txt"
PIP = ("-m", "pip", "install", "-q", "--disable-pip-version-check", "--constraint", CONSTRAINTS)
#: All run on one version of Python, the oldest that each of them supports.
PYTHON = "3.13"


@dataclass(frozen=True, kw_only=True)
class Peer:
    """One of what is compared.

    Args:
        name: as the table has it.
        scheme: of its broker's URL.
        requirements: what pip installs for it; an empty tuple where it shares the environment of ``home``.
        home: the peer whose environment it has.
        program: the module that starts its worker.
        options: its ``broker_transport_options``.
    """

    name: str
    scheme: str
    requirements: tuple[str, ...] = ()
    home: str = ""
    program: str = "celery"
    options: Mapping[str, object] = field(default_factory=dict)


PEERS = (
    Peer(name="delayhub", scheme="delayhub", requirements=(f"{ROOT}[celery]",)),
    Peer(
        name="delayhub, compact",
        scheme="delayhub",
        home="delayhub",
        options={"compact": True},
    ),
    Peer(name="kombu", scheme="redis", requirements=("celery", "packaging", "redis[hiredis]")),
    Peer(name="celery-redis-plus", scheme="valkey", requirements=("celery-redis-plus[hiredis]",)),
    Peer(
        name="potatoq",
        scheme="redis",
        requirements=("potatoq[redis]", "redis[hiredis]"),
        program="potatoq",
    ),
)


def python_of(peer: Peer) -> Path:
    """The Python of a peer's environment, which is made where there is none yet.

    Raises:
        NotAtHand: there is no such Python here, or the package index does not have the peer.
    """
    home = peer.home or peer.name
    requirements = next(one.requirements for one in PEERS if one.name == home)
    folder = FOLDER / "environments" / home
    python, done = folder / "bin" / "python", folder / "installed"
    wanted = f"{requirements}\n{CONSTRAINTS.read_text()}\n{(ROOT / 'pyproject.toml').read_text()}"
    if done.exists() and done.read_text() == wanted:
        return python
    print(f"{home}: installing {', '.join(requirements)}", file=sys.stderr, flush=True)
    if not python.exists():
        subprocess.run([python_program(PYTHON), "-m", "venv", folder], check=True)
    own = ["--editable"] if home == "delayhub" else []
    found = subprocess.run([python, *PIP, *own, *requirements], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise NotAtHand(f"{home} cannot be installed: {(found.stderr.strip().splitlines() or ['?'])[-1]}")
    done.write_text(wanted)
    return python
