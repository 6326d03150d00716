"""A project with the tables of django-celery-beat, for scripts whose arguments are a broker and a database.

Import it before any model: Django has its settings afterwards.
"""

from __future__ import annotations

import sys

import dj_database_url
import django
import redis
from django.conf import settings

from delayhub.testing.movable_clock import MovableClock

BROKER, DATABASE = sys.argv[1:]
settings.configure(
    INSTALLED_APPS=["django_celery_beat"],
    DATABASES={"default": dj_database_url.parse(DATABASE)},
    MIGRATION_MODULES={"django_celery_beat": None},
    USE_TZ=True,
    TIME_ZONE="Europe/Berlin",
)
django.setup()

client = redis.Redis.from_url(BROKER.replace("delayhub://", "redis://"))
clock = MovableClock(client, jobs=False)
