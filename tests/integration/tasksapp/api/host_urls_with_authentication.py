"""The same addresses; callers of the API are known by the project's own header, and one of them may only read."""

from __future__ import annotations

from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission

from tasksapp.access.callers import Caller
from tasksapp.api.http.view import ApiViewSet
from tests.integration.tasksapp.api.host_urls import urlpatterns  # noqa: F401  Django reads it here


class ByHeader(BaseAuthentication):
    def authenticate(self, request: Any) -> tuple[Caller, None] | None:
        name = request.headers.get("X-Shop")
        return (Caller(name, 0), None) if name else None

    def authenticate_header(self, request: Any) -> str:
        return "Shop"


class NotEveryShop(BasePermission):
    def has_permission(self, request: Any, view: Any) -> Any:
        return request.user is not None and request.user.name != "closed"


ApiViewSet.authentication_classes = [ByHeader]
ApiViewSet.permission_classes = [NotEveryShop]
