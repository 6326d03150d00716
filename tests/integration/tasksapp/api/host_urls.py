"""Addresses of a project that includes the API and has one of its own, which REST framework serves too."""

from __future__ import annotations

from typing import Any

from django.urls import include, path
from rest_framework.response import Response
from rest_framework.views import APIView


class Payroll(APIView):
    """A view of the host's that callers of the API should not learn of."""

    authentication_classes = []
    permission_classes = []

    def get(self, request: Any) -> Response:
        return Response({"salary": 1})


urlpatterns = [path("internal/delay/", include("tasksapp.api.urls")), path("payroll", Payroll.as_view())]
