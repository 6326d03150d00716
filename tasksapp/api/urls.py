"""The API's addresses, to be included below ``api/``."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.routers import SimpleRouter

from tasksapp.api.biz_type_views import BizTypeViews
from tasksapp.api.creation import create_job, create_jobs, short_way
from tasksapp.api.job_views import JobViews

router = SimpleRouter(trailing_slash=False, use_regex_path=True)
router.register("jobs", JobViews, basename="job")
router.register("biz-types", BizTypeViews, basename="biz-type")

# Creating is the hot path: REST framework's requests, responses and negotiation would be a third of its price.
urlpatterns = [
    path("v1/jobs", short_way(create_job, JobViews.as_view({"get": "list", "post": "create"}))),
    path("v1/jobs/bulk", short_way(create_jobs, JobViews.as_view({"post": "bulk"}))),
    path("v1/", include(router.urls)),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
]
