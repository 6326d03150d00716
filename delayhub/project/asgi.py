"""The ASGI application, for servers that speak ASGI only; WSGI is the faster of the two here."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import get_resolver
from django.utils.module_loading import import_string

from delayhub.project.garbage import collect_as_usual
from delayhub.project.slots import AwaitedRequestSlots
from delayhub.project.stalled_readers import cut_off_stalled_readers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "delayhub.project.settings")

application: Any = get_asgi_application()
if settings.REQUEST_SLOTS:
    application = AwaitedRequestSlots(application, slots=settings.REQUEST_SLOTS)
get_resolver().url_patterns  # noqa: B018  loads the views, which Django would do with the first request
collect_as_usual()

# Before any thread of this process has a connection. The app is named by dotted string only.
import_string("tasksapp.health.lock_waits.bound_lock_waits")()
# Web processes watch for faults, since they live when all workers are dead.
import_string("tasksapp.alerts.thread.watch")()
cut_off_stalled_readers(settings.SEND_SECONDS)
