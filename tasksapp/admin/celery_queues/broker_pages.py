"""BrokerPages: what all pages about Celery's queues have in common."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import redis
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext as _

from tasksapp.access.permissions import VIEW_QUEUES, VIEW_SYSTEM
from tasksapp.admin.celery_queues.rows import queue_url
from tasksapp.admin.frame.fragments import address
from tasksapp.admin.frame.own_page import Crumb, PageEntry
from tasksapp.queues.celery_broker import CeleryBroker, NoBroker, celery_broker
from tasksapp.queues.heartbeats import WorkerBeat, read_workers


class BrokerPages(PageEntry):
    """Pages below that of all queues, for people who may see these."""

    permission = VIEW_QUEUES

    def looked_up(self, request: HttpRequest, look: Callable[[CeleryBroker], dict[str, Any]]) -> dict[str, Any]:
        """What ``look`` finds in the broker, for a page; or ``fault``, a sentence that says why there is nothing."""
        with celery_broker() as broker:
            if isinstance(broker, NoBroker):
                return {"fault": broker.sentence}
            try:
                return broker.watched(lambda: look(broker))
            except (redis.RedisError, OSError) as error:
                return {"fault": self._away(request, broker, error)}

    def done(self, request: HttpRequest, do: Callable[[CeleryBroker], HttpResponse], *, back: str) -> HttpResponse:
        """What ``do`` answers; or back to that address, with a message that says why it could not be done."""
        with celery_broker() as broker:
            if isinstance(broker, NoBroker):
                messages.error(request, broker.sentence)
                return HttpResponseRedirect(back)
            try:
                return broker.watched(lambda: do(broker))
            except (redis.RedisError, OSError) as error:
                messages.error(request, self._away(request, broker, error))
                return HttpResponseRedirect(back)

    def broker_page(
        self, request: HttpRequest, template: str, title: str, context: dict[str, Any], *, queue: str = ""
    ) -> HttpResponse:
        """A page below that of all queues, or below that of one."""
        above = Crumb(queue, queue_url(queue, site=self.admin_site.name)) if queue else None
        return self.own_page(request, f"tasksapp/admin/{template}", title, context, above=above)

    def system_url(self, request: HttpRequest) -> str:
        """The address of the system's page, '' for people who may not see it."""
        return (
            address("tasksapp_system_changelist", site=self.admin_site.name)
            if request.user.has_perm(VIEW_SYSTEM)
            else ""
        )

    def _away(self, request: HttpRequest, broker: CeleryBroker, error: Exception) -> str:
        """Why there is nothing to show: to those who may see servers, with the address."""
        if not request.user.has_perm(VIEW_SYSTEM):
            return _("Celery's queues cannot be shown: their Redis does not answer.")
        facts = {"address": broker.address, "error": type(error).__name__}
        if isinstance(error, redis.ResponseError):
            facts["error"] = str(error)
            return _("Celery's queues cannot be shown: Redis at %(address)s refuses to answer (%(error)s).") % facts
        return _("Celery's queues cannot be shown: Redis at %(address)s does not answer (%(error)s).") % facts


def queue_in(given: QueryDict) -> str:
    """The queue that an address, or a form, names. Raises BadRequest where it names none."""
    queue = given.get("queue", "")[:512]
    if not queue or "\0" in queue:  # a NUL begins the number of a slot
        raise BadRequest("the request names no queue")
    return queue


def known_workers() -> list[WorkerBeat] | None:
    """The workers with a heartbeat; None where these are not known, such as with timers in a Redis that is away."""
    with suppress(redis.RedisError, OSError, ValueError):
        return read_workers()
    return None
