"""Who may know whom: the contracts are in pyproject.toml, their proof by import is here."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from tests.repository import ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def modules_after(statement: str) -> set[str]:
    """The modules that a new Python has loaded after a statement."""
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(run.stdout.split())


@pytest.mark.parametrize(
    ("statement", "strangers"),
    [
        # the engine is Redis alone
        ("import delayhub.engine", {"django", "celery", "kombu", "rest_framework", "aiohttp", "tasksapp"}),
        # the library's front door opens nothing until somebody goes through
        ("import delayhub", {"django", "celery", "kombu", "redis", "tasksapp"}),
        # a Celery project without Django stays one (kombu itself looks for django.utils, to serialize lazy strings)
        (
            "from delayhub import install",
            {"django.apps", "django.conf", "django.db", "rest_framework", "aiohttp", "tasksapp"},
        ),
    ],
)
def test_an_import_loads_no_strangers(statement: str, strangers: set[str]) -> None:
    assert modules_after(statement) & strangers == set()


def test_the_name_of_every_import_contract_is_a_sentence() -> None:
    assert len(CONTRACTS) >= 6
    for contract in CONTRACTS:
        assert contract["name"][0].isupper()
        assert len(contract["name"].split()) >= 4, contract["name"]


def test_every_room_has_a_contract() -> None:
    walled = {
        module for contract in CONTRACTS for module in contract.get("source_modules", []) + contract.get("modules", [])
    }

    assert walled >= {
        "delayhub.engine",
        "delayhub.transport",
        "delayhub.celery_support",
        "tasksapp.delivery",
        "tasksapp.models",
        "tasksapp.jobs.verbs",
        "tasksapp.jobs.creation",
        "tasksapp.tasks",
        "tasksapp.api",
        "tasksapp.admin",
    }
