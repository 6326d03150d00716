"""What a series may be: a rule for each field that callers give, and what holds for all of them together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from delayhub.cron_steps import idle_step
from tasksapp.errors import InvalidSeries
from tasksapp.jobs.requests import ORDERED_PRIORITY
from tasksapp.jobs.requests import RULES as JOB_RULES
from tasksapp.jobs.validation import Key, Line, Moment, Rule, Seconds, Whole
from tasksapp.models import BizType, Series
from tasksapp.models.new_job import Carried
from tasksapp.series.cron import LONGEST as LONGEST_CRON
from tasksapp.series.plan import schedule_of
from tasksapp.series.schedule import FIRST, LAST, LONGEST_JITTER, listed


@dataclass(frozen=True, kw_only=True)
class Choice(Rule):
    """One of some words."""

    words: Sequence[str]

    def __call__(self, given: Any) -> str:
        if given not in self.words:
            raise self.refusal("invalid", f"must be one of {', '.join(self.words)}, got {given!r:.80}")
        return str(given)


@dataclass(frozen=True, kw_only=True)
class TimeList(Rule):
    """A list of moments, as it is stored: ISO 8601 in UTC, in order."""

    def __call__(self, given: Any) -> list[str]:
        if given is None:
            return []
        if not isinstance(given, list | tuple):
            raise self.refusal("invalid", f"must be a list of times, got {given!r:.80}")
        moments = listed(given)
        if moments and not FIRST <= moments[0] <= moments[-1] <= LAST:
            text = _("times may be from %(first)s to %(last)s")
            raise InvalidSeries("times", "out_of_range", text % {"first": FIRST.date(), "last": LAST.date()})
        return [moment.isoformat() for moment in moments]


#: The columns that its jobs get from it.
CONTENT = tuple(column.attname for column in Carried._meta.concrete_fields)
#: By the name that callers know a field by, which is that of its column.
RULES: dict[str, Rule] = {
    "name": Key(longest=100, field="name", help="Unique in its biz type."),
    "cron": Line(longest=LONGEST_CRON, field="cron", help="Five fields, or six with seconds first; or:"),
    "every": Seconds(field="every", help="Seconds from one to the next; or:"),
    "times": TimeList(field="times", help="A list of moments."),
    "time_zone": Line(longest=64, field="time_zone", help="Of the cron expression, such as Asia/Shanghai."),
    "anchor": Moment(field="anchor", help="One of the moments that the interval leads to. Null: its beginning."),
    "starts_at": Moment(field="starts_at", help="None is due before."),
    "ends_at": Moment(field="ends_at", help="None is due after."),
    "count": Whole(least=1, most=2**31 - 1, field="count", help="It ends after so many."),
    "jitter": Seconds(field="jitter", help="Each is due up to so many seconds later, always the same for it."),
    "overlap": Choice(words=Series.Overlap.values, field="overlap", help="When the one before has not finished."),
    "catch_up": Choice(words=Series.CatchUp.values, field="catch_up", help="Which run after an outage."),
    **{name: JOB_RULES[name] for name in CONTENT if name != "raw"},
}
#: Fields that say when it runs.
SCHEDULE = ("cron", "every", "times", "time_zone", "anchor", "starts_at", "ends_at", "count", "jitter")
#: Fields that are checked with the series' biz type: what its request has of its own, and exact bytes.
OF_BIZ_TYPE = ("request", "raw", "content_type")
#: Of these a series has one.
_ONE_OF = ("cron", "every", "times")


def values_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns' values of the fields that are given. Raises InvalidSeries or InvalidJob, which name the field."""
    for name in given:
        if name not in RULES:
            raise InvalidSeries(name[:100], "unknown", f"there is no field {name[:100]!r}")
    values = {name: RULES[name](value) for name, value in given.items()}
    if "name" in values and values["name"] is None:
        raise InvalidSeries("name", "required", _("name may not be empty"))
    if values.get("time_zone") == "":
        values["time_zone"] = "UTC"
    if "jitter" in values:
        values["jitter"] = values["jitter"] or timedelta(0)
    if any(values.get(name) for name in _ONE_OF):
        # A cron expression takes the place of an interval, and so on.
        values = {"cron": "", "every": None, "times": [], **values}
    return values


def check(series: Series, *, now: datetime) -> None:
    """Completes the series' schedule, and checks it as a whole. Raises InvalidSeries."""
    if series.every is None:
        series.anchor = None
    elif series.anchor is None:
        series.anchor = (series.starts_at or now).replace(microsecond=0)
    when = schedule_of(series)
    # Not in what is stored: a series of an earlier release goes on.
    if (term := idle_step(series.cron.split())) is not None:
        text = _("cron %(given)s: the step of %(term)s is larger than what it counts through")
        raise InvalidSeries("cron", "step", text % {"given": repr(series.cron), "term": term})
    if not timedelta(0) <= series.jitter <= LONGEST_JITTER:
        raise InvalidSeries("jitter", "range", _("jitter may be a year at most"))
    if series.jitter:
        gap = when.shortest_gap(series.starts_at or datetime(2001, 1, 1, tzinfo=UTC))
        if gap is not None and series.jitter >= gap:
            text = _("jitter must be shorter than the shortest time between two occurrences, %(seconds)s s")
            raise InvalidSeries("jitter", "too_long", text % {"seconds": f"{gap.total_seconds():g}"})


def check_with_biz_type(series: Series, changed: Collection[str]) -> None:
    """Checks with its biz type what changed of the series. Raises InvalidSeries or InvalidJob.

    Where one job of a biz id may live, the next of a series would wait beside those that run.
    """
    biz_type = series.biz_type
    if "biz_id" in changed and series.biz_id and biz_type.one_live != BizType.OneLive.ANY:
        text = _(
            "the biz type %(code)s keeps one live job of each biz id, and a series has several: leave the biz id empty"
        )
        raise InvalidSeries("biz_id", "one_live", text % {"code": biz_type.code})
    if (
        {"priority", "flow_key"} & {*changed}
        and series.flow_key
        and series.priority is not None
        and biz_type.is_ordered
    ):
        raise RULES["priority"].refusal("conflict", ORDERED_PRIORITY)
