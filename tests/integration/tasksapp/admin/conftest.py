"""The browser of a person in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client


@pytest.fixture
def person(admin_client: Client, settings: Any) -> Client:
    """A superuser's browser."""
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}  # the database decides
    return admin_client


@pytest.fixture
def viewer(client: Client, django_user_model: Any, settings: Any) -> Client:
    """The browser of somebody who may look at jobs, and not into them."""
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}  # the database decides
    user = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_job"))
    client.force_login(user)
    return client
