"""What will go says so in the headers of two standards."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpResponse

from tasksapp.api.jobs.query import Deprecated, mark


def test_an_answer_says_since_when_until_when_and_where_to_read_on() -> None:
    answer = HttpResponse()
    gone = Deprecated(datetime(2027, 1, 1, tzinfo=UTC), "docs/", datetime(2028, 1, 1, tzinfo=UTC))

    mark(answer, gone, prefix="/internal/delay/")

    assert answer["Deprecation"] == "@1798761600"
    assert answer["Sunset"] == "Sat, 01 Jan 2028 00:00:00 GMT"
    assert answer["Link"] == '</internal/delay/docs/>; rel="deprecation"; type="text/html"'


def test_without_an_end_there_is_none_in_the_answer() -> None:
    answer = HttpResponse()

    mark(answer, Deprecated(datetime(2027, 1, 1, tzinfo=UTC), "docs/"), prefix="/api/")

    assert "Sunset" not in answer.headers
