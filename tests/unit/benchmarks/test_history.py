"""The figures of jobs over commits: what a run adds, and that the page shows what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import history


@pytest.mark.check
def test_the_page_shows_the_rows_that_are_kept() -> None:
    assert f"{history.BEGIN}\n{history.table()}\n{history.END}" in history.PAGE.read_text()


def test_a_run_adds_a_row_and_a_column_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, page = tmp_path / "history.csv", tmp_path / "numbers.md"
    rows.write_text(",".join(f'"{name}"' for name in history.COLUMNS) + "\n")
    page.write_text(f"# Numbers\n\n{history.BEGIN}\n{history.END}\n\n## More\n")
    monkeypatch.setattr(history, "ROWS", rows)
    monkeypatch.setattr(history, "PAGE", page)

    history.keep({"abc1234": {"200/s, PostgreSQL": 151.5, "what is not kept": 3.0}, "def5678": {}})

    written = page.read_text()
    assert written.startswith(f"# Numbers\n\n{history.BEGIN}\n| | abc1234 | def5678 |\n|---|---|---|\n| date | ")
    assert "\n| 200/s, PostgreSQL | 151.5 |  |\n" in written
    assert written.endswith(f"{history.END}\n\n## More\n")
    assert "what is not kept" not in written


def test_a_machine_has_a_speed() -> None:
    assert history.speed() > 0
