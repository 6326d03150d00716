"""The page of a queue's unique keys: which are taken, by which message, and how one is freed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from delayhub.clock import moment
from tasksapp.access.permissions import CHANGE_QUEUES
from tasksapp.admin.celery_queues.broker_pages import BrokerPages, known_workers, queue_in
from tasksapp.admin.celery_queues.deeds import ReasonForm, record_freed_key
from tasksapp.admin.celery_queues.rows import Holder, holders, queue_url, with_worker
from tasksapp.admin.frame.fragments import DASH, address, away, number, quiet, time_away
from tasksapp.admin.frame.masking import hidden, may_see_bodies
from tasksapp.admin.frame.own_page import at
from tasksapp.admin.frame.requests import actor_of
from tasksapp.queues.celery_broker import CeleryBroker, KeyHolder, Place, Until

#: Keys that the page shows.
SHOWN = 50
#: Keys of one message that are looked through for the one that a person chose; more than one is an odd case.
OF_MESSAGE = 100


class UniqueKeyPages(BrokerPages):
    """The part of the queues' admin that shows and frees unique keys."""

    @at("keys/")
    def keys_view(self, request: HttpRequest) -> HttpResponse:
        """The unique keys of a queue that are taken."""
        self.require_view(request)
        queue = queue_in(request.GET)
        context: dict[str, Any] = {"queue": queue}
        context |= self.looked_up(request, lambda broker: self._keys(request, broker, queue))
        title = _("Unique keys of %(queue)s") % {"queue": queue}
        return self.broker_page(request, "celery_keys.html", title, context, queue=queue)

    @at("keys/free/")
    def free_key_view(self, request: HttpRequest) -> HttpResponse:
        """Frees the key that the form names, if its message still has it; asks before."""
        self.require_view(request)
        if not request.user.has_perm(CHANGE_QUEUES):
            raise PermissionDenied
        queue = queue_in(request.POST)
        mark, _colon, holder = request.POST.get("chosen", "").partition(":")
        if not (mark and holder):
            raise BadRequest("the request does not name a key of a queue")
        back = keys_url(queue, site=self.admin_site.name)
        return self.done(
            request, lambda broker: self._free(request, broker, queue, holder=holder, mark=mark, back=back), back=back
        )

    # ------------------------------------------------------------ inside

    def _keys(self, request: HttpRequest, broker: CeleryBroker, queue: str) -> dict[str, Any]:
        wanted, sees_keys = request.GET.get("q", "").strip()[:256], may_see_bodies(request)
        look = broker.browser.unique_keys(queue, limit=SHOWN, wanted=wanted, by_text=sees_keys)
        shown, held_by = len(look.found), holders(known_workers() or ())
        return {
            "rows": [self._row(request, queue, one, held_by=held_by) for one in look.found],
            "wanted": wanted,
            "is_whole": look.is_whole,
            "is_all": look.is_whole and look.total <= shown,
            "shown": number(shown),
            "total": number(look.total),
            "sees_keys": sees_keys,
            "may_change": request.user.has_perm(CHANGE_QUEUES),
            "queue_url": queue_url(queue, site=self.admin_site.name),
            "all_url": keys_url(queue, site=self.admin_site.name),
        }

    def _row(
        self, request: HttpRequest, queue: str, one: KeyHolder, *, held_by: Mapping[str, Holder]
    ) -> dict[str, Any]:
        now, site = timezone.now(), self.admin_site.name
        return {
            "key": shown_key(one.key) if may_see_bodies(request) else hidden(one.key),
            "holder": one.id,
            "url": queue_url(queue, site=site, tab=one.place.value, q=one.id) if one.place and one.id else "",
            "state": _state(one, held_by=held_by, now=now),
            "until": _until(one, now=now),
            "following": format_html("{}", number(one.following)) if one.following else quiet(DASH),
            "choice": f"{_mark(queue, one.id, one.key)}:{one.id}",
        }

    def _free(
        self, request: HttpRequest, broker: CeleryBroker, queue: str, *, holder: str, mark: str, back: str
    ) -> HttpResponse:
        look = broker.browser.unique_keys(queue, limit=OF_MESSAGE, wanted=holder, by_text=False)
        chosen = [one for one in look.found if constant_time_compare(_mark(queue, one.id, one.key), mark)]
        form = ReasonForm(request.POST if "confirmed" in request.POST else None)
        if chosen and not form.is_valid():
            context = {
                "queue": queue,
                "row": self._row(request, queue, chosen[0], held_by=holders(known_workers() or ())),
                "may_run": chosen[0].place in (Place.LEASED, None),
                "waits": chosen[0].following,
                "form": form,
                "back": back,
            }
            title = _("Free a unique key of %(queue)s") % {"queue": queue}
            return self.broker_page(request, "celery_free_key.html", title, context, queue=queue)
        if chosen and broker.browser.free_unique_key(queue, chosen[0].key, holder=holder):
            reason = form.cleaned_data["reason"]
            record_freed_key(queue, chosen[0].key, holder=holder, by=actor_of(request), reason=reason)
            if chosen[0].following:
                messages.success(request, _("The key was freed: the first message that waits for it has it now."))
            else:
                messages.success(request, _("The key is free."))
        else:
            messages.warning(request, _("Nothing was freed: that message does not have the key any more."))
        return HttpResponseRedirect(back)


def keys_url(queue: str, *, site: str) -> str:
    """The address of the page of a queue's unique keys."""
    return f"{address('tasksapp_celeryqueue_keys', site=site)}?{urlencode({'queue': queue})}"


def shown_key(key: str) -> SafeString:
    """A key as people see it: what has no shape of its own, or turns the text around, stands as its escape."""
    visible = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in key)
    return format_html("{}", visible)


def _mark(queue: str, holder: str, key: str) -> str:
    """What stands for a key in forms: a keyed hash, which does not give the key away to people who may not see it."""
    return salted_hmac("delayhub.unique_key", f"{queue}\0{holder}\0{key}", algorithm="sha256").hexdigest()[:32]


def _state(one: KeyHolder, *, held_by: Mapping[str, Holder], now: datetime) -> SafeString:
    if one.place is None:
        return quiet(_("done, or gone"))
    at = time_away(moment(one.at_ms), now=now) if one.at_ms is not None else ""
    known = held_by.get(one.id) or held_by.get(one.id.partition("#")[0])
    if one.has_expired:
        state, more = _("Expired"), quiet(_("the next call takes the key"))
    else:
        state, more = {
            Place.WAITING: (_("Waiting"), quiet(_("due %(time)s") % {"time": at})),
            Place.READY: (_("In line"), quiet(_("due %(time)s") % {"time": at})),
            Place.PARKED: (_("Held by limits"), SafeString()),
            Place.LEASED: (_("With a worker"), with_worker(known, now=now)),
            Place.DEAD: (_("Dead"), quiet(at)),
        }[one.place]
    return format_html('{}<span class="delayhub-below">{}</span>', state, more)


def _until(one: KeyHolder, *, now: datetime) -> SafeString:
    if one.till_ms is not None:
        return away(moment(one.till_ms), now=now)
    return format_html("{}", _("a worker takes it") if one.until is Until.START else _("its task ends"))
