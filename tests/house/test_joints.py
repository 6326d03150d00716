"""How often optional abilities meet in one function of the timeout centre, and how wide its tables are: only less."""

from __future__ import annotations

import ast

import pytest

from tasksapp.models import BizType, Job
from tests.joints import Joint, abilities_of, counted, joints, names_in

#: As it is today; the aim is 25 pairs, each in a list of their own, and no function of four in the core. Lower a number
#: as soon as it has fallen: it may not rise again.
MOST = {"pairs": 161, "meetings": 650, "functions of four": 23}
#: Columns; the aim is 35 and 26.
COLUMNS = {BizType: 77, Job: 36}


def test_abilities_do_not_meet_more_often_than_before() -> None:
    found = counted(joints("tasksapp"))

    assert all(found[name] <= most for name, most in MOST.items()), f"{found}: see python -m tests.joints"


@pytest.mark.parametrize("model", COLUMNS)
def test_tables_do_not_get_wider(model: type[BizType] | type[Job]) -> None:
    assert len(model._meta.concrete_fields) == COLUMNS[model]


@pytest.mark.parametrize(
    ("names", "known"),
    [
        # A column, a class, and an attribute of a local variable.
        ("job.flow_key", []),
        ("biz_type.on_success", ["follow-ups"]),
        ("raise QuotaUsedUp(tenant)", ["quotas"]),
        ("found = [one for one in jobs if one.is_answered and one.expires_at]", ["answers", "expiry"]),
        # A keyword argument, and a name inside another function, which has a line of its own.
        ("call(masked=True)", ["masks"]),
        ("def inner(series): return series", []),
    ],
)
def test_a_function_knows_the_abilities_whose_names_it_has(names: str, known: list[str]) -> None:
    function = ast.parse(f"def function():\n    {names}").body[0]

    assert sorted(set(abilities_of(names_in(function)))) == known


def test_pairs_are_counted_once_and_meetings_each_time() -> None:
    found = [Joint("a.py:f", ("audit", "pull")), Joint("b.py:g", ("audit", "masks", "order", "pull"))]

    assert counted(found) == {"pairs": 6, "meetings": 7, "functions of four": 1}
