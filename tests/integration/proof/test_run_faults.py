"""Runs with one fault each, from beginning to end."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.repository import ROOT


@pytest.mark.nightly  # by day: test_lost_task.py, test_lost_child.py, test_kills.py, tests/unit/proof/faults
@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("worker_killed", 54), ("jobs_sqlite_held", 34)])
def test_a_run_with_a_fault_keeps_its_promise(name: str, least: int) -> None:
    command = [sys.executable, "-m", "proof.run_faults", "--runs", "1", "--only", name]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)

    assert said.returncode == 0, said.stdout + said.stderr
    found = json.loads(said.stdout.splitlines()[-1])
    assert (found["runs"], found["lost"], found["early"], found["stuck"]) == (1, 0, 0, 0)
    assert found["items"] >= least
    assert 1 <= found["tries"] <= 3
