"""The pages of Celery's queues: all of them, one of them, and what is done to its messages."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.access.permissions import CHANGE_QUEUES, VIEW_SYSTEM
from tasksapp.admin.celery_queues.broker_pages import known_workers, queue_in
from tasksapp.admin.celery_queues.deeds import LABELS, MEANINGS, Chosen, DeedForm, do
from tasksapp.admin.celery_queues.rows import holders, key_rows, limit_rows, queue_rows, queue_url, task_rows
from tasksapp.admin.celery_queues.unique_keys import UniqueKeyPages, keys_url
from tasksapp.admin.frame.fragments import jobs_address, number
from tasksapp.admin.frame.masking import may_see_bodies
from tasksapp.admin.frame.own_page import at, own_page
from tasksapp.models import BizType
from tasksapp.queues.celery_broker import CeleryBroker, Place, QueueVerb
from tasksapp.queues.heartbeats import WorkerBeat

#: Queues of one page, and messages of one.
QUEUES_PAGE, MESSAGES_PAGE = 50, 50
#: Flow keys of a queue's page, those with most tasks held back.
KEYS_SHOWN = 20
#: Periodic tasks that beat leaves out.
LEFT_OUT_SHOWN = 10
#: No page begins further back: the engine walks there, and no person pages so far.
FARTHEST_MESSAGE = 1_000_000


class CeleryQueueAdmin(UniqueKeyPages):
    """Celery's queues, whether or not a worker runs."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """All queues of the broker."""
        self.require_view(request)
        wanted = request.GET.get("q", "").strip()[:200]
        context: dict[str, Any] = {"wanted": wanted, "media": self.media}
        context |= self.looked_up(request, lambda broker: self._overview(request, broker, wanted=wanted))
        return own_page(
            request,
            site=self.admin_site,
            template="tasksapp/admin/celery_queues.html",
            title=_("Celery queues"),
            context=context,
            fragment="tasksapp/admin/celery_queues_table.html",
        )

    @at("queue/")
    def queue_view(self, request: HttpRequest) -> HttpResponse:
        """One queue, a page of one place of it."""
        self.require_view(request)
        queue = queue_in(request.GET)
        context: dict[str, Any] = {"queue": queue}
        context |= self.looked_up(request, lambda broker: self._queue(request, broker, queue))
        return self.broker_page(request, "celery_queue.html", _("Queue %(name)s") % {"name": queue}, context)

    @at("act/")
    def act_view(self, request: HttpRequest) -> HttpResponse:
        """Does what was chosen to messages; asks before, where that cannot be taken back or several were chosen."""
        self.require_view(request)
        if not request.user.has_perm(CHANGE_QUEUES):
            raise PermissionDenied
        chosen = Chosen.of(request) if request.method == "POST" else None
        if chosen is None:
            raise BadRequest("the request does not name what to do to which messages")
        back = queue_url(chosen.queue, site=self.admin_site.name, tab=chosen.place.value)
        if chosen.ids == ():
            messages.warning(request, _("Choose messages first."))
            return HttpResponseRedirect(back)
        return self.done(request, lambda broker: self._act(request, broker, chosen, back=back), back=back)

    # ------------------------------------------------------------ inside

    def _overview(self, request: HttpRequest, broker: CeleryBroker, *, wanted: str) -> dict[str, Any]:
        names = broker.names()
        chosen = [name for name in names if wanted.casefold() in name.casefold()]
        begin = _number(request, "from", most=len(chosen))
        workers = known_workers()
        found = broker.browser.summaries(chosen[begin : begin + QUEUES_PAGE])
        left = broker.browser.left_by_kombu(names[:QUEUES_PAGE])
        return {
            "rows": queue_rows(found, workers=workers, now=timezone.now(), site=self.admin_site.name),
            "workers_known": workers is not None,
            "workers": number(len(workers or ())),
            "system_url": self.system_url(request),
            "left_by_kombu": number(left) if left else "",
            "left_out": broker.browser.left_out()[:LEFT_OUT_SHOWN],
            "pages": _pages(request, begin=begin, size=QUEUES_PAGE, shown=len(found), total=len(chosen)),
            "broker_address": broker.address if request.user.has_perm(VIEW_SYSTEM) else "",
        }

    def _queue(self, request: HttpRequest, broker: CeleryBroker, queue: str) -> dict[str, Any]:
        now, browser = timezone.now(), broker.browser
        [summary] = browser.summaries([queue])
        workers = known_workers()
        context: dict[str, Any] = {
            "summary": queue_rows([summary], workers=workers, now=now, site=self.admin_site.name)[0],
            "taken_by": [worker.name for worker in workers or () if queue in worker.queues],
            "workers_known": workers is not None,
        }
        if summary.is_lane:
            return context | {"timers": self._timers(broker, queue)}
        counts, limits = browser.queue(queue).count()._asdict(), browser.limits(queue)
        some_keys = any(limit.keys for limit in limits)
        tab, overdue = _place(request), max(0, summary.backlog.due - counts[Place.READY.value])
        return context | {
            "limits": limit_rows(limits, now=now),
            "held_keys": key_rows(browser.held_keys(queue, limit=KEYS_SHOWN), now=now) if some_keys else [],
            "some_at_once": any(limit.at_once or limit.at_once_set_at for limit in limits),
            "keys_url": keys_url(queue, site=self.admin_site.name) if browser.has_unique_keys(queue) else "",
            "tab": tab.value,
            "tabs": [
                {
                    "label": _place_label(place),
                    "count": number(counts[place.value]),
                    "url": queue_url(queue, site=self.admin_site.name, tab=place.value),
                    "is_here": place is tab,
                }
                for place in Place
                if place is not Place.PARKED or limits or place is tab
            ],
            "count": number(counts[tab.value]),
            "due_but_waiting": number(overdue) if overdue else "",
            "may_change": request.user.has_perm(CHANGE_QUEUES),
            "sees_arguments": may_see_bodies(request),
            "verbs": _verbs(tab, broker),
            **self._messages(request, broker, queue, tab=tab, total=counts[tab.value], workers=workers or ()),
        }

    def _messages(
        self,
        request: HttpRequest,
        broker: CeleryBroker,
        queue: str,
        *,
        tab: Place,
        total: int,
        workers: Sequence[WorkerBeat],
    ) -> dict[str, Any]:
        """The page of messages that the address asks for: a stretch of the tab, or what a search found."""
        wanted, now = request.GET.get("q", "").strip()[:200], timezone.now()
        begin = _number(request, "from", most=FARTHEST_MESSAGE)
        held_by = holders(workers)
        if not wanted:
            tasks = broker.browser.page(queue, tab, offset=begin, limit=MESSAGES_PAGE)
            pages = _pages(request, begin=begin, size=MESSAGES_PAGE, shown=len(tasks), total=total)
            return {"tasks": task_rows(request, tasks, held_by=held_by, now=now), "pages": pages, "wanted": ""}
        exact = [task for task in broker.browser.find(queue, wanted) if task.place is tab] if not begin else []
        search = broker.browser.search(
            queue, tab, wanted, with_arguments=may_see_bodies(request), offset=begin, most_found=MESSAGES_PAGE
        )
        known = {task.id for task in exact}
        tasks = [*exact, *(task for task in search.found if task.id not in known)]
        return {
            "tasks": task_rows(request, tasks, held_by=held_by, now=now),
            "wanted": wanted,
            "looked_at": number(search.looked_at),
            "total": number(search.total),
            "further": "" if search.is_whole else f"?{_query(request, **{'from': search.looked_at})}",
        }

    def _timers(self, broker: CeleryBroker, lane: str) -> list[dict[str, str]]:
        site = self.admin_site.name
        rows = BizType.objects.select_related("tenant").only("code", "queue_name", "tenant__code")
        labels = {row.queue: row.label for row in rows}
        return [
            {
                "code": labels.get(queue, queue),
                "waiting": number(waiting),
                "held": number(held),
                "url": jobs_address(site=site, tab="pending", biz_type=labels.get(queue, queue)),
            }
            for queue, (waiting, held) in sorted(broker.browser.timers(lane).items())
        ]

    def _act(self, request: HttpRequest, broker: CeleryBroker, chosen: Chosen, *, back: str) -> HttpResponse:
        if broker.is_lane(chosen.queue) or (chosen.verb is QueueVerb.REVOKE and not broker.can_revoke):
            raise BadRequest("that cannot be done to this queue")
        if not chosen.asks_first:
            do(request, broker, chosen)
            return HttpResponseRedirect(back)
        targets = []
        if chosen.verb is QueueVerb.TRANSFER:
            found = broker.browser.summaries([name for name in broker.names() if name != chosen.queue])
            targets = [one.name for one in found if not one.is_lane]
        given = request.POST if "confirmed" in request.POST else None
        form = DeedForm(given, verb=chosen.verb, targets=targets)
        if given is not None and form.is_valid():
            do(request, broker, chosen, **form.cleaned_data)
            return HttpResponseRedirect(back)
        total = getattr(broker.browser.queue(chosen.queue).count(), chosen.place.value)
        context = {
            "chosen": chosen,
            "form": form,
            "back": back,
            "verb_label": str(LABELS[chosen.verb]).removesuffix(" …"),
            "meaning": MEANINGS[chosen.verb],
            "count": number(total if chosen.ids is None else len(chosen.ids)),
            "place_label": _place_label(chosen.place),
        }
        title = _("%(verb)s: %(queue)s") % {"verb": context["verb_label"], "queue": chosen.queue}
        return self.broker_page(request, "celery_confirm.html", title, context)


def _place(request: HttpRequest) -> Place:
    with suppress(ValueError):
        return Place(request.GET.get("tab", ""))
    return Place.WAITING


def _place_label(place: Place) -> str:
    return {
        Place.WAITING: _("Waiting"),
        Place.READY: _("In line"),
        Place.PARKED: _("Held by limits"),
        Place.LEASED: _("With workers"),
        Place.DEAD: _("Dead"),
    }[place]


def _verbs(place: Place, broker: CeleryBroker) -> list[dict[str, object]]:
    """The buttons of a tab."""
    return [
        {"value": verb.value, "label": LABELS[verb], "is_danger": verb is QueueVerb.REVOKE}
        for verb in QueueVerb
        if place in verb.places and (verb is not QueueVerb.REVOKE or broker.can_revoke)
    ]


def _number(request: HttpRequest, name: str, *, most: int) -> int:
    """A number in the address, 0 where it is none."""
    given = request.GET.get(name, "")
    return min(int(given), most) if given.isascii() and given.isdigit() and len(given) < 10 else 0


def _query(request: HttpRequest, **changed: object) -> str:
    """The address' parameters with some of them changed; an empty one is left out."""
    query = request.GET.copy()
    query.pop("fragment", None)
    for name, value in changed.items():
        query[name] = str(value)
    return query.urlencode()


def _pages(request: HttpRequest, *, begin: int, size: int, shown: int, total: int) -> dict[str, str]:
    """What stands below a list: which stretch of it this is, and where the stretches before and after are."""
    return {
        "first": number(begin + 1) if shown else "0",
        "last": number(begin + shown),
        "total": number(total),
        "before": f"?{_query(request, **{'from': max(0, begin - size)})}" if begin else "",
        "after": f"?{_query(request, **{'from': begin + size})}" if begin + shown < total and shown else "",
    }
