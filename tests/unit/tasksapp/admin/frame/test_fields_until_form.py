"""A form asks until when: a length of time, or a time that is still to come."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp.admin.frame.fields import UntilForm


def test_a_length_counts_from_now() -> None:
    form = UntilForm({"length": "3600", "reason": "a move"})

    assert form.is_valid()
    assert timedelta(minutes=59) < form.ends - timezone.now() <= timedelta(hours=1)


def test_a_time_may_be_given_instead() -> None:
    until = timezone.localtime(timezone.now() + timedelta(days=3)).replace(second=0, microsecond=0)

    form = UntilForm({"length": "at", "until": f"{until:%Y-%m-%dT%H:%M}", "reason": "a move"})

    assert form.is_valid()
    assert form.ends == until


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"length": "3600", "reason": ""}, "reason"),
        ({"length": "at", "reason": "x"}, "until"),
        ({"length": "at", "until": "2020-01-01T00:00", "reason": "x"}, "until"),
        ({"length": "resumed", "reason": "x"}, "length"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field(given: dict[str, str], field: str) -> None:
    assert list(UntilForm(given).errors) == [field]
