"""The addresses of every operation, below the API's prefix. OpenAPI describes these and no others."""

from __future__ import annotations

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from tasksapp.api.biz_type_views import BizTypeViews
from tasksapp.api.business_key_views import key_operations
from tasksapp.api.creation import create_job, create_jobs
from tasksapp.api.definition_views import DefinitionViews
from tasksapp.api.http.direct_view import direct_view
from tasksapp.api.job_views import JobViews
from tasksapp.api.key_views import KeyViews
from tasksapp.api.operation_views import OperationViews

router = SimpleRouter(trailing_slash=False, use_regex_path=True)
router.register("jobs", JobViews, basename="job")
router.register("biz-types", BizTypeViews, basename="biz-type")
router.register("operations", OperationViews, basename="operation")
router.register("keys", KeyViews, basename="key")

operations = [
    path("v1/jobs", direct_view(create_job, view=JobViews.as_view({"get": "list", "post": "create"}))),
    path("v1/jobs/bulk", direct_view(create_jobs, view=JobViews.as_view({"post": "bulk"}))),
    *key_operations,
    path("v1/biz-type-definitions", DefinitionViews.as_view({"get": "export", "put": "replace"}), name="definitions"),
    path("v1/", include(router.urls)),
]
