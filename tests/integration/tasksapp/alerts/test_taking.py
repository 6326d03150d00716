"""Who says that they see to an alert ends its reminders, and not the message that it is over."""

from __future__ import annotations

import pytest

from tasksapp.access.actors import Actor
from tasksapp.alerts.book import What
from tasksapp.alerts.taking import take
from tasksapp.models import Alert
from tests.integration.tasksapp.alert_story import Story

pytestmark = pytest.mark.django_db


def test_what_somebody_sees_to_is_not_said_again_before_its_end() -> None:
    story = Story()
    story.at(0, wrong=True)
    assert story.at(9, wrong=True) == [What.BEGAN]
    assert take(Alert.objects.get(), by=Actor("ada"))

    said = [story.at(60 * 60 * hour, wrong=hour < 20) for hour in range(1, 22)]

    assert [what for each in said for what in each] == [What.OVER]
