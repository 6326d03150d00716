"""The addresses of every operation, below the API's prefix. OpenAPI describes these and no others."""

from __future__ import annotations

from django.urls import include, path, re_path
from rest_framework.routers import SimpleRouter

from tasksapp.api.audit.views import AuditViews
from tasksapp.api.biz_types.definitions import DefinitionViews
from tasksapp.api.biz_types.views import BizTypeViews
from tasksapp.api.claims.views import ClaimViews
from tasksapp.api.http.direct_view import direct_view
from tasksapp.api.jobs.business_key_views import key_operations
from tasksapp.api.jobs.creation import create_job, create_jobs
from tasksapp.api.jobs.links import LinkViews
from tasksapp.api.jobs.resolving import ResolveViews
from tasksapp.api.jobs.views import JobViews
from tasksapp.api.keys.views import KeyViews
from tasksapp.api.operations.views import OperationViews
from tasksapp.api.series.views import SeriesViews
from tasksapp.api.stats.views import StatsViews

router = SimpleRouter(trailing_slash=False, use_regex_path=True)
router.register("jobs", JobViews, basename="job")
router.register("biz-types", BizTypeViews, basename="biz-type")
router.register("claims", ClaimViews, basename="claim")
router.register("operations", OperationViews, basename="operation")
router.register("series", SeriesViews, basename="series")
router.register("keys", KeyViews, basename="key")
router.register("audit", AuditViews, basename="audit")

creates = [
    path("v1/jobs", direct_view(create_job, view=JobViews.as_view({"get": "list", "post": "create"}))),
    path("v1/jobs/bulk", direct_view(create_jobs, view=JobViews.as_view({"post": "bulk"}))),
]
operations = [
    *creates,
    *key_operations,
    re_path(
        rf"^v1/jobs/(?P<pk>{JobViews.lookup_value_regex})/links$",
        LinkViews.as_view({"get": "list", "post": "create"}),
        name="job-links",
    ),
    re_path(
        rf"^v1/jobs/(?P<pk>{JobViews.lookup_value_regex})/links/(?P<number>[0-9]{{1,18}})$",
        LinkViews.as_view({"delete": "destroy"}),
        name="job-link",
    ),
    path("v1/resolve", ResolveViews.as_view({"post": "resolve"}), name="resolve"),
    path("v1/resolve/lift", ResolveViews.as_view({"post": "lift"}), name="lift"),
    path("v1/biz-type-definitions", DefinitionViews.as_view({"get": "export", "put": "replace"}), name="definitions"),
    path("v1/key", KeyViews.as_view({"get": "own"}), name="own-key"),
    path("v1/stats", StatsViews.as_view({"get": "counts"}), name="stats"),
    path("v1/stats/series", StatsViews.as_view({"get": "series"}), name="stats-series"),
    path("v1/issues", StatsViews.as_view({"get": "issues"}), name="issues"),
    path("v1/health", StatsViews.as_view({"get": "health"}), name="health"),
    path("v1/", include(router.urls)),
]
