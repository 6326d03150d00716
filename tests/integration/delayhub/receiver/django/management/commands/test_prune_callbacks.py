"""``manage.py prune_callbacks``."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection


@pytest.mark.django_db
def test_it_forgets_what_is_older_than_so_many_days() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO delayhub_inbox (id, received_at, action) VALUES ('job-1', 1, '')")
    out = StringIO()

    call_command("prune_callbacks", "--keep-days", "37", stdout=out)

    assert out.getvalue() == "1 callbacks forgotten\n"
    with pytest.raises(CommandError):
        call_command("prune_callbacks")


@pytest.mark.parametrize("days", ["0", "-3", "nan", "1e12"])
def test_days_that_cannot_be_are_refused(days: str) -> None:
    with pytest.raises(CommandError, match="--keep-days"):
        call_command("prune_callbacks", f"--keep-days={days}")
