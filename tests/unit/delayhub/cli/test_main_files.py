"""Files that a command cannot read or write."""

from __future__ import annotations

from pathlib import Path

import pytest

from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.main import main


@pytest.mark.parametrize("words", ["jobs export --output none/dead.csv", "jobs import orders.ndjson"])
def test_a_file_that_cannot_be_written_is_a_sentence(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DELAYHUB_URL", "http://site.example")
    monkeypatch.setenv("DELAYHUB_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    Path("orders.ndjson").write_text('{"biz_type": "order.close"}\n')
    Path("orders.ndjson.progress.new").mkdir()

    code = main(words.split())

    said = capsys.readouterr().err
    assert (code, said.startswith("Error: "), "none/dead.csv" in said or "progress" in said) == (
        ExitCode.FAILED, True, True
    )  # fmt: skip
