"""The views of numbers: counts, series, issues, and whether jobs are delivered."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models import stats as answers
from tasksapp.access.quotas import Use, uses_of
from tasksapp.api.http.answers import json_of, timestamp
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.parameters import Parameters, parameter
from tasksapp.api.http.problems import refused
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.stats.representation import (
    HealthSerializer,
    IssuesSerializer,
    StatsSerializer,
    StatsSeriesSerializer,
    issue_json,
    numbers_json,
)
from tasksapp.biz_types.visible import Reach, visible_biz_types
from tasksapp.models import BizType, Tenant
from tasksapp.models.api_key import Scope
from tasksapp.stats.counts import Counts, read_counts
from tasksapp.stats.delivery_health import delivery_health
from tasksapp.stats.issues import open_issues
from tasksapp.stats.pulses import HOURS_KEPT, PulseSummary, read_series, summaries

#: Steps of one series.
MOST_POINTS = 1_500
LONGEST_STEP_SECONDS = 86_400

_TIME = {"type": "string", "format": "date-time"}
OF_BIZ_TYPE = parameter("biz_type", {"type": "string"}, "Only this one, by its code.")


class StatsViews(ApiViewSet):
    """Numbers, of the biz types that the key may see."""

    pagination_class = None

    @endpoint("Count jobs", Scope.STATS, gives=StatsSerializer, parameters=[OF_BIZ_TYPE])
    def counts(self, request: Request) -> Response:
        """How many jobs wait, run and are dead, how the last five minutes were, and how much of its quotas is used."""
        biz_types = _asked(request, Parameters(request, {"biz_type"}))
        counts = read_counts()
        total, by_biz_type = summaries(among=list(biz_types))
        own = Counts(counts.as_of, {key: counts.of(key) for key in biz_types}, counts.bound)
        return Response(
            {
                "as_of": timestamp(own.as_of or timezone.now()),
                "bounded": own.bound is not None,
                "total": numbers_json(own.total, total),
                "biz_types": [
                    {"biz_type": biz_type.code, **numbers_json(own.of(key), by_biz_type.get(key, PulseSummary()))}
                    for key, biz_type in biz_types.items()
                ],
                "quotas": [json_of(answers.QuotaUse, use) for use in _quotas(request)],
            }
        )

    @endpoint(
        "Read the stats series",
        Scope.STATS,
        gives=StatsSeriesSerializer,
        parameters=[
            OF_BIZ_TYPE,
            parameter("since", _TIME, "Where the first step begins; an hour ago by default."),
            parameter("until", _TIME, "No step begins then or later; now by default."),
            parameter(
                "step_seconds",
                {"type": "integer", "minimum": 60, "maximum": LONGEST_STEP_SECONDS, "multipleOf": 60, "default": 60},
                f"The length of a step, whole minutes. A series has at most {MOST_POINTS} steps.",
            ),
        ],
    )
    def series(self, request: Request) -> Response:
        """Attempts that succeeded and failed, jobs that died and how late attempts began, step by step.

        Minutes are kept for two days, hours for 90 days: of older times the step in which an hour begins has all of it.
        """
        given = Parameters(request, {"biz_type", "since", "until", "step_seconds"})
        biz_types = _asked(request, given)
        step = given.whole("step_seconds", least=60, most=LONGEST_STEP_SECONDS, default=60)
        if step % 60:
            raise refused("step_seconds", "invalid", f"step_seconds must be whole minutes, got {step}")
        now = timezone.now()
        until = min(given.moment("until") or now, now)
        since = given.moment("since") or until - timedelta(hours=1)
        if since >= until:
            raise refused("since", "invalid", "since must be before until, and before now")
        since = max(since, now - HOURS_KEPT)
        if (until - since).total_seconds() / step > MOST_POINTS:
            raise refused("step_seconds", "invalid", f"a series has at most {MOST_POINTS} steps: take longer ones")
        points = read_series(biz_type_id=None, since=since, until=until, step_seconds=step, among=list(biz_types))
        return Response({"step_seconds": step, "points": [json_of(answers.SeriesPoint, point) for point in points]})

    @endpoint("List issues", Scope.STATS, gives=IssuesSerializer, parameters=[OF_BIZ_TYPE])
    def issues(self, request: Request) -> Response:
        """The dead jobs, grouped by biz type and kind of error, as the loader counted them last."""
        given = Parameters(request, {"biz_type"})
        biz_types = _asked(request, given)
        only = next(iter(biz_types)) if given.has("biz_type") else None
        found = open_issues(biz_type_id=only)
        return Response({"issues": [issue_json(issue) for issue in found if issue.biz_type.pk in biz_types]})

    @endpoint("Read the delivery health", Scope.STATS, gives=HealthSerializer)
    def health(self, request: Request) -> Response:
        """Whether jobs are delivered at this moment, and why not. The answer is 200 in either case."""
        Parameters(request, ())
        found = delivery_health()
        return Response(json_of(answers.Health, found))


def _quotas(request: Request) -> list[Use]:
    tenant = Tenant.objects.select_related("counted").filter(pk=Reach.of(request.user).tenant_id).first()
    return [] if tenant is None else uses_of(tenant)


def _asked(request: Request, given: Parameters) -> dict[int, BizType]:
    """By id, the biz types that the caller asks for and sees. Raises Refused where the one it names is not there."""
    rows = visible_biz_types(request.user)
    code = given.text("biz_type", longest=100)
    if code is not None:
        rows = rows.filter(code=code)
    found = {biz_type.pk: biz_type for biz_type in rows}
    if code is not None and not found:
        raise refused("biz_type", "invalid", f"there is no biz type {code!r}")
    return found
