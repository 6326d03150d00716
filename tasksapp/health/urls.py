"""``/livez`` and ``/readyz``, below any prefix."""

from __future__ import annotations

from django.urls import path

from tasksapp.health.views import livez, readyz

urlpatterns = [
    path("livez", livez, name="livez"),
    path("readyz", readyz, name="readyz"),
]
