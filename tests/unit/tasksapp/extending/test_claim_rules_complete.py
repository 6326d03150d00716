"""A wait rule says when its rows are claimed again, in one way, and has a name of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tasksapp.extending.claim_rules import RESERVED, WaitRule
from tasksapp.sql.claim_answer import ClaimAnswer, Left

RULE: dict[str, Any] = {"name": "stock", "rank": 5, "when": "true", "holds": lambda *_: True}


def test_the_words_of_the_claim_itself_are_reserved() -> None:
    assert {left.value for left in Left} == RESERVED


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "shut", "again_after": timedelta(minutes=1)}, "cannot be named 'shut'"),
        # Its rows would be lost to the answer.
        ({}, "needs again_after or apart"),
        ({"again_after": timedelta(minutes=1), "apart": lambda *_: ClaimAnswer(token=1)}, "and not both"),
    ],
)
def test_a_rule_that_is_not_whole_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        WaitRule(**{**RULE, **fields})
