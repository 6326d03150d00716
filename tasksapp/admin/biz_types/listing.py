"""The list of biz types: whether their jobs go out, how many wait, how late they are, and where they go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.access.shown_text import shown_text
from tasksapp.admin.frame.fragments import DASH, badge, duration, flow_state, jobs_address, number, quiet
from tasksapp.admin.frame.possible_rows import has_tenants
from tasksapp.biz_types.breaker import Breaker, callback_host
from tasksapp.biz_types.holds import open_breakers, without_puller
from tasksapp.models import BizType
from tasksapp.stats.counts import BizTypeCounts, read_counts
from tasksapp.stats.pulses import PulseSummary, summaries


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedNumbers:
    """What the list shows of a biz type beside its row."""

    counts: BizTypeCounts
    summary: PulseSummary
    breaker: Breaker | None
    lacks_puller: bool
    bound: int | None
    now: datetime


class BizTypeChangeList(ChangeList):
    """The biz types of one page of the list, with the numbers of all of them in two statements."""

    def get_results(self, request: HttpRequest) -> None:
        """Reads the page's biz types and their numbers."""
        super().get_results(request)
        self.result_list: Any = list(self.result_list)
        counts, lately, now = read_counts(), summaries()[1], timezone.now()
        breakers, lonely = open_breakers(self.result_list) or {}, without_puller(self.result_list)
        for biz_type in self.result_list:
            biz_type.listed = ListedNumbers(
                counts=counts.of(biz_type.pk),
                summary=lately.get(biz_type.pk, PulseSummary()),
                breaker=breakers.get(biz_type.queue),
                lacks_puller=biz_type.queue in lonely and counts.of(biz_type.pk).due_now > 0,
                bound=counts.bound,
                now=now,
            )


class BizTypeList(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """The part of the biz type admin that is the list."""

    list_display = ["biz_type", "flow", "due_now", "pending_jobs", "dead_jobs", "lateness", "receiver"]
    list_display_links = ["biz_type"]
    list_select_related = ["tenant"]
    search_fields = ["code", "name", "description"]

    def get_list_filter(self, request: HttpRequest) -> Any:
        """The filters; that of tenants where there are several."""
        del request
        return [*(["tenant"] if has_tenants() else []), "enabled", "target", "lane"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list that knows the numbers."""
        return BizTypeChangeList

    @admin.display(description=gettext_lazy("biz type"), ordering="code")
    def biz_type(self, biz_type: BizType) -> SafeString:
        """The code, and the name below it."""
        name = format_html('<span class="delayhub-below">{}</span>', biz_type.name) if biz_type.name else ""
        return format_html('<span class="delayhub-code-name">{}</span>{}', biz_type.label, name)

    @admin.display(description=gettext_lazy("flow"))
    def flow(self, biz_type: Any) -> SafeString:
        """Whether its jobs go out, in words; why not; and whether its callbacks are not signed."""
        listed: ListedNumbers = biz_type.listed
        state = flow_state(biz_type, listed.breaker, lacks_puller=listed.lacks_puller, now=listed.now)
        why = biz_type.pause_reason if biz_type.is_paused else ""
        reason = format_html('<span class="delayhub-below">{}</span>', why) if why else ""
        unsigned = badge(_("unsigned"), "unsigned") if biz_type.is_unsigned else ""
        return format_html("{} {}{}", state, unsigned, reason)

    @admin.display(description=gettext_lazy("due now"))
    def due_now(self, biz_type: Any) -> SafeString:
        """How many jobs wait although their time has come, with a link to them."""
        return self._jobs(biz_type, _("due now"), biz_type.listed.counts.due_now, tab="due")

    @admin.display(description=gettext_lazy("pending"))
    def pending_jobs(self, biz_type: Any) -> SafeString:
        """How many jobs are pending, with a link to them."""
        return self._jobs(biz_type, _("pending"), biz_type.listed.counts.pending, tab="pending")

    @admin.display(description=gettext_lazy("dead"))
    def dead_jobs(self, biz_type: Any) -> SafeString:
        """How many jobs are dead, with a link to them."""
        return self._jobs(biz_type, _("dead"), biz_type.listed.counts.dead, tab="dead")

    @admin.display(description=gettext_lazy("late p99"))
    def lateness(self, biz_type: Any) -> SafeString:
        """How late 99 in 100 attempts of the last five minutes began, at most."""
        late = biz_type.listed.summary.lateness_p99_ms
        shown = quiet(DASH) if late is None else duration(ms=late)
        return format_html('<span class="delayhub-phone">{}</span> {}', _("late, 99 in 100 within"), shown)

    @admin.display(description=gettext_lazy("receiver"))
    def receiver(self, biz_type: BizType) -> SafeString:
        """The host or the Celery task that its jobs go to."""
        if biz_type.target == BizType.Target.CELERY:
            return format_html('<span title="{}">{}</span>', _("Celery task"), biz_type.task_name)
        if biz_type.is_pulled:
            return format_html("<span>{}</span>", _("pullers"))
        request = f"{biz_type.method} {shown_text('url', biz_type.url)}"
        return format_html('<span title="{}">{}</span>', request, callback_host(biz_type))

    def _jobs(self, biz_type: Any, label: str, count: int, *, tab: str) -> SafeString:
        shown = number(count, bound=biz_type.listed.bound)
        url = jobs_address(site=self.admin_site.name, tab=tab, biz_type=biz_type.label)
        linked = format_html('<a href="{}">{}</a>', url, shown) if count and url else quiet(shown)
        return format_html('<span class="delayhub-phone">{}</span> {}', label, linked)
