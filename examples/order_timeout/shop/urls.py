"""The shop's addresses: the admin, where orders and their jobs are seen."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

# The admin's first page also shows how the jobs fare.
admin.site.index_template = "tasksapp/admin/index.html"

urlpatterns = [path("admin/", admin.site.urls)]
