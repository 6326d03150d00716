"""What is installed for each peer of the comparison."""

from __future__ import annotations

import tomllib

from benchmarks.rival_peers import PEERS
from tests.repository import ROOT


def test_this_checkout_is_installed_with_celery_which_it_does_not_bring_by_itself() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    own = next(peer for peer in PEERS if peer.name == "delayhub")

    (requirement,) = own.requirements

    path, _, extra = requirement.partition("[")
    assert path == str(ROOT)
    assert any(each.startswith("celery") for each in extras[extra.removesuffix("]")])
