"""A queue, and people with some of the permissions, for the pages of Celery's queues."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis
from celery import Celery
from django.contrib.auth.models import Permission, User
from django.test import Client

from delayhub.engine import DelayQueue


@pytest.fixture
def person_with() -> Callable[..., Client]:
    """The browser of a person with these permissions and no other."""

    def make(*names: str) -> Client:
        person = User.objects.create_user(f"p{User.objects.count()}", is_staff=True)
        person.user_permissions.set(Permission.objects.filter(codename__in=names))
        client = Client()
        client.force_login(person)
        return client

    return make


@pytest.fixture
def queue(app: Celery, redis_client: redis.Redis) -> DelayQueue:
    return DelayQueue(redis_client, "celery")
