"""Addresses of a project with two admin sites, each with the app's models."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from tasksapp.admin import BizTypeAdmin, CeleryQueueAdmin, IssueAdmin, JobAdmin, OperationAdmin
from tasksapp.admin.frame.own_page import CeleryQueue
from tasksapp.models import BizType, DeadCount, Job, Operation

second = admin.AdminSite(name="second")
second.register(BizType, BizTypeAdmin)
second.register(Job, JobAdmin)
second.register(DeadCount, IssueAdmin)
second.register(CeleryQueue, CeleryQueueAdmin)
second.register(Operation, OperationAdmin)

urlpatterns = [
    path("second/", second.urls),
    path("admin/", admin.site.urls),
    path("api/", include("tasksapp.api.urls")),
]
