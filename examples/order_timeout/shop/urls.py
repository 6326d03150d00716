"""The shop's addresses: the admin, where orders and their jobs are seen."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

# How the jobs fare is shown at /admin/tasksapp/.
urlpatterns = [path("admin/", admin.site.urls)]
