"""Views that receive callbacks, at addresses of their own (a URLconf); each test says what their work is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delayhub.receiver import Verifier
from delayhub.receiver.django import once, verified
from tests.signed_callbacks import SECRET

VERIFIER = Verifier(SECRET)


class Work:
    """What the views do; a test replaces it."""

    def __init__(self) -> None:
        self.do: Callable[[HttpRequest], Any] = lambda request: HttpResponse(status=204)


WORK = Work()
ONCE = once(VERIFIER, wait=timedelta(milliseconds=200))


@ONCE
def function(request: HttpRequest) -> HttpResponse:
    found: HttpResponse = WORK.do(request)
    return found


@method_decorator(ONCE, name="dispatch")
class ClassBased(View):
    def post(self, request: HttpRequest) -> Any:
        return WORK.do(request)


class RestFramework(APIView):
    authentication_classes = ()
    permission_classes = ()

    def post(self, request: Request) -> Response:
        # REST framework reads the body after it was verified.
        found = WORK.do(request._request)
        return Response(request.data, status=found.status_code)


@verified(VERIFIER)
def only_verified(request: HttpRequest) -> HttpResponse:
    return HttpResponse(request.delayhub_callback.id)  # type: ignore[attr-defined]  # where verified() puts it


urlpatterns = [
    path("function/", function),
    path("class/", ClassBased.as_view()),
    path("rest/", ONCE(RestFramework.as_view())),
    path("verified/", only_verified),
]
