"""The address of the metrics, for URL confs: ``path("", include("tasksapp.metrics.urls"))``."""

from __future__ import annotations

from django.urls import path

from tasksapp.metrics.views import metrics

app_name = "delayhub_metrics"

urlpatterns = [path("metrics", metrics, name="metrics")]
