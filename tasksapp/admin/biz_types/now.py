"""The first page of a biz type: whether its jobs go out, how many wait, what it does, and who changed it recent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.access.shown_text import shown_text
from tasksapp.admin.audit.words import deed_label
from tasksapp.admin.biz_types.form import COPY_OF
from tasksapp.admin.biz_types.pages import BizTypePages
from tasksapp.admin.biz_types.retry_words import schedule_sentence
from tasksapp.admin.frame.fragments import (
    Tile,
    address,
    badge,
    clock_time,
    duration,
    flow_state,
    jobs_address,
    number,
    percent,
    time_away,
)
from tasksapp.admin.frame.job_charts import next_chart, past_chart
from tasksapp.biz_types.breaker import Breaker, callback_host, token_host
from tasksapp.biz_types.holds import open_breakers, without_puller
from tasksapp.jobs.retry_policy import RetryPolicy, schedule_of
from tasksapp.models import AuditEntry, BizType
from tasksapp.stats.clearing import clearing_sentence
from tasksapp.stats.counts import FARTHEST, Counts, plain_jobs, read_counts
from tasksapp.stats.pulses import PulseSummary, summaries

#: Entries of the audit that the page shows.
DEEDS = 5


class Fact(NamedTuple):
    """A name and what it is."""

    label: str
    value: str


class Now(BizTypePages):
    """The part of the biz type admin that is its first page."""

    def now_page(self, request: HttpRequest, biz_type: BizType) -> HttpResponse:
        """The page, or the part of it that refreshes itself."""
        now = timezone.now()
        counts, recent = read_counts(biz_type_id=biz_type.pk), summaries(among=[biz_type.pk])[0]
        due_now = counts.of(biz_type.pk).due_now
        waits = due_now > 0
        breakers, lonely = open_breakers([biz_type]), waits and bool(without_puller([biz_type]))
        context: dict[str, Any] = {
            "flow": self._flow(biz_type, breakers, lonely=lonely, now=now),
            "clearing": "" if biz_type.is_shut(now=now) else clearing_sentence(due_now, recent, bound=counts.bound),
            "tiles": self._tiles(biz_type, counts, recent),
            "counted_at": clock_time(counts.as_of) if counts.as_of else "",
            "counts_end": "" if counts.bound is None else number(counts.bound),
            "next_chart": next_chart(biz_type, now=now),
            "past_chart": past_chart(biz_type_id=biz_type.pk, now=now),
            "facts": list(_facts(biz_type)),
            "deeds": self._deeds(request, biz_type),
            "history_url": self.address("history", biz_type),
            "audit_url": address("tasksapp_auditentry_changelist", site=self.admin_site.name),
            **self._buttons(request, biz_type),
        }
        return self.biz_type_page(
            request,
            biz_type,
            template="biz_type_now.html",
            title=biz_type.label,
            context=context,
            tab="now",
            fragment="tasksapp/admin/biz_type_now_part.html",
        )

    def _flow(
        self, biz_type: BizType, breakers: dict[str, Breaker] | None, *, lonely: bool, now: datetime
    ) -> SafeString:
        if breakers is None and not biz_type.is_shut(now=now):
            if biz_type.waits_for_redis:
                return badge(_("Redis does not answer: no job goes out"), "down")
            return badge(_("Redis does not answer: jobs go out from the database"), "down")
        return flow_state(biz_type, (breakers or {}).get(biz_type.queue), lacks_puller=lonely, now=now)

    def _tiles(self, biz_type: BizType, counts: Counts, recent: PulseSummary) -> list[Tile]:
        found, site, now = counts.of(biz_type.pk), self.admin_site.name, timezone.now()

        def count(value: int) -> str:
            return number(value, bound=counts.bound)

        def jobs(tab: str, value: int) -> str:
            return jobs_address(site=site, tab=tab, biz_type=biz_type.label) if value else ""

        def away(value: Any, words: str) -> str:
            return words % {"time": time_away(value, now=now)} if value else ""

        oldest = found.oldest_due_at if found.due_now else None
        half = failing = ""
        if recent.failing_share is not None:
            failing = _("%(share)s of the attempts fail") % {"share": percent(recent.failing_share)}
        if recent.lateness_p50_ms is not None:
            half = _("half within %(time)s") % {"time": duration(ms=recent.lateness_p50_ms)}
        return [
            Tile(_("Due now"), count(found.due_now), away(oldest, _("oldest: %(time)s")), jobs("due", found.due_now)),
            Tile(
                _("Pending"),
                count(found.pending),
                away(found.next_due_at, _("next: %(time)s")),
                jobs("pending", found.pending),
            ),
            Tile(_("Running"), number(found.running), "", jobs("running", found.running)),
            Tile(_("Dead"), count(found.dead), "", jobs("dead", found.dead)),
            Tile(_("Done per minute"), number(round(recent.done_per_minute)), failing),
            Tile(
                _("Late, 99 in 100 within"),
                duration(ms=recent.lateness_p99_ms),
                half,
            ),
        ]

    def _deeds(self, request: HttpRequest, biz_type: BizType) -> list[dict[str, Any]]:
        entries = AuditEntry.objects.filter(biz_type_id=biz_type.pk, job_id__isnull=True).order_by("-id")[:DEEDS]
        return [
            {
                "at": entry.at,
                "away": time_away(entry.at),
                "actor": entry.actor,
                "deed": deed_label(entry.verb),
                "reason": entry.reason,
            }
            for entry in entries
        ]

    def _buttons(self, request: HttpRequest, biz_type: BizType) -> dict[str, str]:
        """The addresses of what the person may do; '' for what they may not."""
        is_paused, may_pause = biz_type.is_paused, self.has_pause_permission(request)
        may_copy = self.has_add_permission(request) and self.has_change_permission(request, biz_type)
        return {
            "pause_url": self.address("pause", biz_type) if may_pause else "",
            "resume_url": self.address("resume", biz_type) if may_pause and is_paused else "",
            "test_url": self.address("test", biz_type)
            if self.has_test_permission(request) and not biz_type.is_pulled
            else "",
            "copy_url": f"{self.address('add')}?{COPY_OF}={biz_type.pk}" if may_copy else "",
            "secrets_url": self.address("secrets", biz_type) if self.has_secrets_permission(request) else "",
            "delete_url": self.address("delete", biz_type) if self.has_delete_permission(request, biz_type) else "",
            "jobs_url": jobs_address(site=self.admin_site.name, tab="pending", biz_type=biz_type.label),
        }


def _facts(biz_type: BizType) -> Iterator[Fact]:
    if biz_type.description:
        yield Fact(_("Description"), biz_type.description)
    if biz_type.target == BizType.Target.CELERY:
        yield Fact(_("Runs the task"), biz_type.task_name)
        yield Fact(_("Queue"), biz_type.task_queue or _("the task's own"))
    elif biz_type.is_pulled:
        yield Fact(_("Receiver"), _("pullers, which claim its jobs over HTTP"))
        yield Fact(_("A claim lasts"), duration(seconds=biz_type.timeout_seconds))
    else:
        yield Fact(_("Receiver"), callback_host(biz_type))
        yield Fact(_("Request"), f"{biz_type.method} {shown_text('url', biz_type.url)}")
        yield Fact(
            _("Signature"),
            _("none: the receiver cannot know who sent a callback") if biz_type.is_unsigned else _("signed"),
        )
        if biz_type.auth != BizType.Auth.NONE:
            yield Fact(_("Authorization"), str(biz_type.get_auth_display()))
        if biz_type.asks_for_token:
            yield Fact(_("Token server"), token_host(biz_type))
        if biz_type.certificate_ends_at is not None:
            end = f"{timezone.localtime(biz_type.certificate_ends_at):%Y-%m-%d %H:%M %Z}"
            values = {"subject": biz_type.certificate_subject, "time": end}
            yield Fact(_("Client certificate"), _("%(subject)s, until %(time)s") % values)
        if biz_type.ca_bundle:
            yield Fact(_("Trusts"), _("its own CA bundle"))
        yield Fact(_("Timeout"), duration(seconds=biz_type.timeout_seconds))
    yield Fact(_("If a job keeps failing"), schedule_sentence(schedule_of(RetryPolicy(biz_type=biz_type))))
    yield Fact(_("Limits"), _limits(biz_type))
    if not biz_type.is_pulled:
        yield Fact(_("Lane"), biz_type.lane)
    retention = biz_type.retention
    kept = _("always") if retention is None else duration(seconds=retention.total_seconds())
    yield Fact(_("Finished jobs are kept"), kept)
    if biz_type.encrypted:
        yield Fact(_("At rest"), _at_rest(biz_type))


def _at_rest(biz_type: BizType) -> str:
    plain = plain_jobs(biz_type)
    if not plain:
        return _("encrypted") if plain is not None else _("encrypted; whether all jobs are takes too long to find out")
    text = _("encrypted; %(count)s jobs from before are not: run manage.py reseal")
    return text % {"count": number(plain, bound=FARTHEST)}


def _limits(biz_type: BizType) -> str:
    rate, slots = biz_type.delivery_rate, biz_type.max_in_flight
    words = {"rate": f"{rate:,.10g}" if rate is not None else "", "slots": number(slots)}
    if rate is not None and slots is not None:
        return _("%(rate)s jobs per second, %(slots)s callbacks at the same time") % words
    if rate is not None:
        return _("%(rate)s jobs per second") % words
    if slots is not None:
        return _("%(slots)s callbacks at the same time") % words
    return _("none: as fast as pullers ask") if biz_type.is_pulled else _("none: as fast as the workers can")
