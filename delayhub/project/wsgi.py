"""The WSGI application: ``granian --interface wsgi --http 1 delayhub.project.wsgi:application``."""

from __future__ import annotations

import gc
import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver
from django.utils.module_loading import import_string

from delayhub.project.garbage import collect_as_usual
from delayhub.project.refusals import WholeBody, WSGIApplication, known_charsets
from delayhub.project.slots import BodySlots, RequestSlots
from delayhub.project.stalled_readers import cut_off_stalled_readers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "delayhub.project.settings")

application: WSGIApplication = WholeBody(known_charsets(get_wsgi_application()))
if settings.BODY_SLOTS:
    application = BodySlots(application, slots=settings.BODY_SLOTS)
if settings.REQUEST_SLOTS:
    application = RequestSlots(application, slots=settings.REQUEST_SLOTS)

# Modules that are loaded by now stay for good. Frozen, they are not visited by the garbage collector again and again,
# which took a tenth of a request.
get_resolver().url_patterns  # noqa: B018  loads the views, which Django would do with the first request
gc.collect()
gc.freeze()
collect_as_usual()

# Before any thread of this process has a connection. The app is named by dotted string only.
import_string("tasksapp.health.lock_waits.bound_lock_waits")()
# Web processes watch for faults, since they live when all workers are dead.
import_string("tasksapp.alerts.thread.watch")()
cut_off_stalled_readers(settings.SEND_SECONDS)
