"""The same addresses; calls of the API are counted in a scope."""

from tasksapp.api.http.view import ApiViewSet
from tests.integration.tasksapp.api.host_urls import urlpatterns  # noqa: F401  Django reads it here

ApiViewSet.throttle_scope = "delay"  # type: ignore[attr-defined]  # ScopedRateThrottle looks for it
