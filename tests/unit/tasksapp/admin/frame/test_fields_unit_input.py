"""An input with its unit."""

from __future__ import annotations

from tasksapp.admin.frame.fields import UnitInput


def test_the_unit_stands_beside_the_number() -> None:
    shown = UnitInput(unit="jobs per <second>").render("rate", 500)

    assert 'name="rate"' in shown
    assert 'value="500"' in shown
    assert "<span>jobs per &lt;second&gt;</span>" in shown
