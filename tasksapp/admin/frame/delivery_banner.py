"""The banner that says why no job is delivered, on the pages where people look for their jobs."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse

from tasksapp.admin.frame.fragments import sentence
from tasksapp.stats.delivery_health import DeliveryHealth, delivery_health

#: Where a request keeps the answer: the banner, the mark in the frame and the overview ask once together.
_KEPT = "_delayhub_health"


class ShowsDelivery:
    """A part of a ModelAdmin: its list and its pages begin with the banner while no job is delivered."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list, below the banner."""
        _show_banner(request)
        page: HttpResponse = super().changelist_view(request, extra_context)  # type: ignore[misc]  # it is a mixin
        return page

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The page of one row, below the banner."""
        _show_banner(request)
        page: HttpResponse = super().changeform_view(request, *args, **kwargs)  # type: ignore[misc]  # it is a mixin
        return page


def health_of(request: HttpRequest) -> DeliveryHealth:
    """Whether jobs are delivered, asked once for each request."""
    found: DeliveryHealth | None = getattr(request, _KEPT, None)
    if found is None:
        found = delivery_health()
        setattr(request, _KEPT, found)
    return found


def banner(request: HttpRequest) -> str:
    """What the banner says; '' while jobs are delivered."""
    reason = reason_for(request, health_of(request))
    return reason and sentence(reason)


def reason_for(request: HttpRequest, health: DeliveryHealth) -> str:
    """Why no job is delivered, for the person who asks; '' while jobs are. Only superusers see servers' addresses."""
    if health.is_ok:
        return ""
    return str(health) if request.user.is_superuser else health.sentence


def _show_banner(request: HttpRequest) -> None:
    # A page that answers to a POST leads to another one, which has its own.
    if request.method == "GET" and (text := banner(request)):
        messages.error(request, text)
