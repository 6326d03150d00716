"""The API's addresses, for any prefix: ``path("api/", include("tasksapp.api.urls"))``."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.routers import SimpleRouter

from tasksapp.api.biz_type_views import BizTypeViews
from tasksapp.api.creation import create_job, create_jobs
from tasksapp.api.http.direct_view import direct_view
from tasksapp.api.job_views import JobViews

#: Names are reversed as ``delayhub:job-list``, so that they are none of the host project's.
app_name = "delayhub"

router = SimpleRouter(trailing_slash=False, use_regex_path=True)
router.register("jobs", JobViews, basename="job")
router.register("biz-types", BizTypeViews, basename="biz-type")

urlpatterns = [
    path("v1/jobs", direct_view(create_job, view=JobViews.as_view({"get": "list", "post": "create"}))),
    path("v1/jobs/bulk", direct_view(create_jobs, view=JobViews.as_view({"post": "bulk"}))),
    path("v1/", include(router.urls)),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    # Its script is a file of its own, which a content security policy may ask for.
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="delayhub:schema"), name="docs"),
]
