"""Whether jobs are delivered, as pages say it: a banner that says why not, and a mark for each part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp.admin.frame.fragments import sentence
from tasksapp.errors import AWAY
from tasksapp.queues.heartbeats import WorkerBeat, read_workers
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState, delivery_health

#: Where a request keeps the answer: the banner, the mark in the frame and the overview ask once together.
_KEPT = "_delayhub_health"
#: States in which Redis is not asked another time: it did not answer, or the settings name none.
NO_REDIS = frozenset({DeliveryState.DATABASE_AWAY, DeliveryState.SETTINGS, DeliveryState.REDIS_AWAY})


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


@dataclass(frozen=True, slots=True)
class Mark:
    """One part of the system: its state in words, and the colour of it, ``good``, ``warning`` or ``bad``."""

    text: str
    tone: str


def has_redis(health: DeliveryHealth) -> bool:
    """Whether Redis answered when it was asked."""
    return health.state not in NO_REDIS


def mark_of(request: HttpRequest) -> Mark:
    """One mark for the frame of each page."""
    health = health_of(request)
    if health.is_ok:
        return Mark(_("Delivering"), "good")
    late_only = health.state in {DeliveryState.OTHER_REDIS, DeliveryState.NO_LOADER, DeliveryState.LOADER_FAILS}
    return Mark(_("Jobs may be late"), "warning") if late_only else Mark(_("Not delivering"), "bad")


def marks(health: DeliveryHealth) -> list[Mark]:
    """A mark for each part: Redis, the database, the workers, the loader."""
    database = Mark(_("Database answers"), "good")
    if not has_redis(health):
        return [Mark(_("Redis does not answer"), "bad"), database]
    try:
        workers = read_workers()
    except AWAY:
        return [Mark(_("Redis does not answer"), "bad"), database]
    return [Mark(_("Redis answers"), "good"), database, _workers_mark(workers), _loader_mark(workers, health)]


def _workers_mark(workers: list[WorkerBeat]) -> Mark:
    if not workers:
        return Mark(_("No worker"), "bad")
    text = ngettext("%(workers)s worker", "%(workers)s workers", len(workers)) % {"workers": f"{len(workers):,}"}
    return Mark(text, "good" if any(worker.lanes for worker in workers) else "warning")


def _loader_mark(workers: list[WorkerBeat], health: DeliveryHealth) -> Mark:
    loader = next((worker for worker in workers if worker.is_loader), None)
    if loader is None:
        return Mark(_("No loader"), "warning")
    words = {"worker": loader.host}
    if health.state is DeliveryState.LOADER_FAILS:
        return Mark(_("Loader on %(worker)s fails") % words, "bad")
    return Mark(_("Loader on %(worker)s") % words, "good")
