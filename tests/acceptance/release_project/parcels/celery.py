"""Its Celery app."""

import os

from celery import Celery

import delayhub

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "parcels.settings")

app = Celery("parcels")
app.config_from_object("django.conf:settings", namespace="CELERY")
delayhub.install(app)
app.autodiscover_tasks()
