"""What callers may send about series: described from the rules of ``tasksapp.series.fields``."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from tasksapp.access.audit import REASON_LENGTH
from tasksapp.api.http.checked_request import CheckedRequest
from tasksapp.api.jobs.exact_body import TWO_BODIES, body_fields
from tasksapp.api.jobs.requests import described_rule
from tasksapp.jobs.validation import CODE, VERSION, Key, Line, Rule
from tasksapp.models import Series
from tasksapp.series.fields import RULES, SCHEDULE, Choice, TimeList
from tasksapp.series.outlook import MOST
from tasksapp.series.schedule import MOST_TIMES

#: The words of a choice with their labels, as answers have them too.
_CHOICES = {tuple(kind.values): kind.choices for kind in (Series.Overlap, Series.CatchUp)}


def _described(rule: Rule) -> serializers.Field[Any, Any, Any, Any]:
    """The field that describes to OpenAPI what a rule lets pass."""
    optional: dict[str, Any] = {"required": False, "allow_null": True, "help_text": rule.help}
    match rule:
        case Choice(words=words):
            return serializers.ChoiceField(choices=_CHOICES[tuple(words)], required=False, help_text=rule.help)
        case TimeList():
            return serializers.ListField(child=serializers.DateTimeField(), max_length=MOST_TIMES, **optional)
        case Key(longest=longest):
            return serializers.CharField(min_length=1, max_length=longest, required=False, help_text=rule.help)
        case Line(longest=longest):
            return serializers.CharField(max_length=longest, allow_blank=True, **optional)
    return described_rule(rule)


class SeriesRequestSerializer(serializers.Serializer[Any]):
    """A series to create: a biz type, a name, and one of `cron`, `every` and `times`."""

    rules = {"not": {"anyOf": TWO_BODIES}}
    example: dict[str, Any] = {
        "biz_type": "report.daily",
        "name": "morning",
        "cron": "0 9 * * 1-5",
        "time_zone": "Asia/Shanghai",
        "body": {"report": "sales"},
    }

    biz_type = serializers.RegexField(CODE, max_length=100, help_text="The code of a biz type.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """One for each rule, and those of exact bytes."""
        described = {name: _described(rule) for name, rule in RULES.items()}
        fields = {**super().get_fields(), **described, **body_fields()}
        fields["name"].required = True
        return fields


class ChangeSeriesRequestSerializer(serializers.Serializer[Any]):
    """What is to change; everything else stays. Another kind of schedule takes the place of the one before."""

    rules = {"not": {"anyOf": TWO_BODIES}}
    example: dict[str, Any] = {"cron": "30 9 * * 1-5", "version": 1}

    version = serializers.IntegerField(
        required=False, allow_null=True, min_value=VERSION.least, max_value=VERSION.most, help_text=VERSION.help
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """One for each rule, and those of exact bytes."""
        described = {name: _described(rule) for name, rule in RULES.items()}
        return {**described, **body_fields(), **super().get_fields()}


class PreviewScheduleRequestSerializer(serializers.Serializer[Any]):
    """A schedule that need not exist."""

    example: dict[str, Any] = {"cron": "0 9 * * 1-5", "time_zone": "Asia/Shanghai", "most": 2}

    most = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MOST, help_text="How many; 10 by default."
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """One for each rule of a schedule."""
        return {**{name: _described(RULES[name]) for name in SCHEDULE}, **super().get_fields()}


class ReasonRequestSerializer(CheckedRequest):
    """Why."""

    example: dict[str, Any] = {"reason": "holidays"}

    reason = serializers.CharField(required=False, allow_blank=True, max_length=REASON_LENGTH)


class BackfillRequestSerializer(CheckedRequest):
    """Which occurrences of the past are to have jobs."""

    example: dict[str, Any] = {"since": "2027-01-01T00:00:00Z", "until": "2027-02-01T00:00:00Z", "reason": "new report"}

    since = serializers.DateTimeField(help_text="The first one may be then.")
    until = serializers.DateTimeField(
        required=False, allow_null=True, help_text="The last one comes before. Null: now, which is the latest."
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=REASON_LENGTH)
