"""The browser of a person in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client


@pytest.fixture
def person(admin_client: Client, settings: Any) -> Client:
    """A superuser's browser."""
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}  # the database decides
    return admin_client
