"""Addresses of a project whose admin is django-unfold's."""

from __future__ import annotations

from django.urls import path
from unfold.sites import UnfoldAdminSite

from tasksapp.admin import BizTypeAdmin, IssueAdmin, JobAdmin
from tasksapp.models import BizType, DeadCount, Job

site = UnfoldAdminSite()
site.register(BizType, BizTypeAdmin)
site.register(Job, JobAdmin)
site.register(DeadCount, IssueAdmin)

urlpatterns = [path("admin/", site.urls)]
