"""The paths that matter make as many calls as the last line of ``benchmarks/calls.jsonl`` says."""

from __future__ import annotations

import pytest

from benchmarks.calls import changes_since, kept


@pytest.mark.check
@pytest.mark.timeout(600)
def test_no_path_makes_more_calls_than_its_last_line_says() -> None:
    said = changes_since(kept()[-1]["paths"])

    assert not said, "\n".join([*said, "if they are to: make bench NAME=calls OPTIONS='--keep \"why they changed\"'"])
