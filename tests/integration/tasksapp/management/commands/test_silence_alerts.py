"""``manage.py silence_alerts``: a deployment tells nobody, and ends only what it began itself."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from tasksapp.models import AlertSilence, AuditEntry, BizType

pytestmark = pytest.mark.django_db


def typed(*words: str) -> str:
    out = StringIO()
    call_command("silence_alerts", *words, stdout=out)
    return out.getvalue()


def test_it_silences_all_for_some_minutes_and_the_audit_says_so() -> None:
    said = typed("--minutes", "5", "--reason", "deploy 4711")

    row = AlertSilence.objects.get()
    assert (row.biz_type_id, row.kind, row.by, row.reason) == (None, "", "manage.py", "deploy 4711")
    assert timedelta(minutes=4) < row.until - timezone.now() <= timedelta(minutes=5)
    assert "nobody is told of what begins before" in said
    assert AuditEntry.objects.get().verb == "alert.silence"


def test_it_ends_what_it_began_and_nothing_of_a_person(biz_type: BizType) -> None:
    now = timezone.now()
    of_ada = AlertSilence.objects.create(began_at=now, until=now + timedelta(hours=1), by="ada", reason="a move")
    typed("--reason", "deploy")
    typed("--reason", "deploy", "--biz-type", biz_type.code)

    assert "1 silence is over" in typed("--end")

    left = AlertSilence.objects.filter(until__gt=timezone.now()).order_by("id")
    assert [row.pk for row in left] == [of_ada.pk, left[1].pk]
    assert left[1].biz_type_id == biz_type.pk
    assert "1 silence is over" in typed("--end", "--biz-type", biz_type.code)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "give a --reason"),
        (["--reason", "x", "--minutes", "0"], "--minutes must be above 0"),
        (["--reason", "x", "--minutes", "9999999"], "--minutes must be above 0"),
        (["--reason", "x", "--biz-type", "nope"], "there is no biz type 'nope'"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], error: str) -> None:
    with pytest.raises(CommandError, match=error):
        typed(*words)
    assert not AlertSilence.objects.exists()
