"""The API's addresses, to be included below ``api/``."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.routers import SimpleRouter

from tasksapp.api.biz_type_views import BizTypeViews
from tasksapp.api.job_views import JobViews

router = SimpleRouter(trailing_slash=False, use_regex_path=True)
router.register("jobs", JobViews, basename="job")
router.register("biz-types", BizTypeViews, basename="biz-type")

urlpatterns = [
    path("v1/", include(router.urls)),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
]
