"""Steps that are too large for what they count through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delayhub.cron_steps import idle_step

RANGES = [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]


@pytest.mark.parametrize(
    ("expression", "term"),
    [
        ("*/61 * * * *", "*/61"),
        ("*/90 * * * *", "*/90"),
        ("0 */25 * * *", "*/25"),
        ("0 0 */32 * *", "*/32"),
        ("0 0 1 */13 *", "*/13"),
        ("0 0 * * */8", "*/8"),
        ("0-10/12 * * * *", "0-10/12"),
        ("5,0-10/12 * * * *", "0-10/12"),
        ("5/61 * * * *", "5/61"),
        ("*/61 * * * * *", "*/61"),
        ("0 0 L/2 * *", "L/2"),
        ("0 0 * * mon-wed/4", "MON-WED/4"),
        ("0 0 * * fri-mon/5", "FRI-MON/5"),
    ],
)
def test_a_step_that_leaves_only_the_first_value_is_found(expression: str, term: str) -> None:
    assert idle_step(expression.split()) == term


@pytest.mark.parametrize(
    "expression",
    [
        *("* * * * *", "*/5 * * * *", "*/60 * * * *", "0 */24 * * *", "0 0 */31 * *", "0 0 1 */12 *", "0 0 * * */7"),
        *("0-10/11 * * * *", "7/10 * * * *", "*/45 * * * *", "*/59 * * * * *", "0 0 * * 0-7/2", "0 0 * * mon-fri/2"),
        *("0 0 * * fri-mon/4", "0 0 L * *", "0 0 LW * *", "0 0 * * 5#2", "0 0 * * 5L", "", "so on", "*/x * * * *"),
    ],
)
def test_all_others_are_none(expression: str) -> None:
    assert idle_step(expression.split()) is None


@given(field=st.integers(0, 5), begin=st.integers(0, 59), length=st.integers(0, 59), step=st.integers(1, 99))
def test_it_is_found_in_every_field_and_range(field: int, begin: int, length: int, step: int) -> None:
    least, most = RANGES[field]
    begin = least + begin % (most - least + 1)
    end = min(most, begin + length)
    fields = ["0", "0", "0", "1", "1", "0"]
    fields[field] = f"{begin}-{end}/{step}" if end > begin else f"*/{step}"
    count = end - begin + 1 if end > begin else most - least + 1

    assert (idle_step(fields) is not None) == (step > count)
