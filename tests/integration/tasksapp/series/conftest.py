"""What the tests of series share."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.utils import timezone

from tests.integration.tasksapp.series_making import MINUTE, At


@pytest.fixture
def at() -> At:
    return At()


@pytest.fixture
def begin() -> datetime:
    """A full minute, at every time of the day the next one of an hourly series, and too far away for its job."""
    return timezone.now().replace(second=0, microsecond=0) + 50 * MINUTE
