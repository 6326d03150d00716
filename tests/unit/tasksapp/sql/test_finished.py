"""What a running job becomes: the status of its transition."""

from __future__ import annotations

from uuid import UUID

import pytest

from tasksapp.models import Status, Transition
from tests.outcomes import finished


@pytest.mark.parametrize(
    ("transition", "status"),
    [
        (Transition.SUCCEED, Status.SUCCEEDED),
        (Transition.RETRY, Status.PENDING),
        (Transition.GIVE_UP, Status.DEAD),
        (Transition.GIVE_BACK, Status.PENDING),
    ],
)
def test_its_status_is_that_of_the_transition(transition: Transition, status: Status) -> None:
    assert transition.source == Status.RUNNING
    assert finished(UUID(int=1), 7, transition).status == status
