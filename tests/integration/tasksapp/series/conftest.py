"""What the tests of series share."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.utils import timezone

from tests.integration.tasksapp.series_making import HOUR, At


@pytest.fixture
def at() -> At:
    return At()


@pytest.fixture
def begin() -> datetime:
    """The beginning of the next hour."""
    return timezone.now().replace(minute=0, second=0, microsecond=0) + HOUR
