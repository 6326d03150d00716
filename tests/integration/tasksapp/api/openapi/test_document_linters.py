"""The OpenAPI document by the linters that people use: redocly and spectral find nothing in it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tasksapp.api.openapi.document import openapi_document
from tests.repository import ROOT
from tests.typescript_client import NODE

#: Where `make check` installs them.
TOOLS = ROOT / ".venv" / "node" / "node_modules" / ".bin"
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """A folder with the document, and the rules of spectral's own set."""
    (tmp_path / "openapi.json").write_text(json.dumps(openapi_document(prefix="/api")))
    (tmp_path / "spectral.yaml").write_text('extends: ["spectral:oas"]\n')
    return tmp_path


@pytest.mark.slow
@pytest.mark.check
@pytest.mark.parametrize(
    ("tool", "arguments", "clean"),
    [
        ("redocly", ["lint", "--extends", "recommended", "--max-problems", "20"], "Your API description is valid."),
        ("spectral", ["lint", "--ruleset", "spectral.yaml", "--fail-severity", "hint"], "No results"),
    ],
)
def test_a_linter_finds_nothing(document: Path, tool: str, arguments: list[str], clean: str) -> None:
    if not (TOOLS / tool).exists():
        pytest.fail("the linters of OpenAPI are not installed: make .venv/.node")

    ran = subprocess.run(
        [str(NODE), str(TOOLS / tool), arguments[0], "openapi.json", *arguments[1:]],
        cwd=document, env={**os.environ, **QUIET}, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip

    said = ran.stdout + ran.stderr
    assert ran.returncode == 0, said
    assert clean in said
    assert "warning" not in said.lower().replace("deprecation warning", "")
