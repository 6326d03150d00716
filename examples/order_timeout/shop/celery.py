"""The shop's own Celery app."""

from __future__ import annotations

import os

from celery import Celery

import delayhub

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")

app = Celery("shop")
app.config_from_object("django.conf:settings", namespace="CELERY")
delayhub.install(app)
app.autodiscover_tasks()
