"""The headers of insert limits, as the draft writes them."""

from __future__ import annotations

from tasksapp.api.http.exception_handler import limit_headers
from tasksapp.biz_types.insert_limit import InsertLimit


def test_an_answer_says_how_many_jobs_in_which_time_and_how_many_now() -> None:
    headers = limit_headers([InsertLimit("order.close", 2.0, 100, 40, 29.2), InsertLimit("b", 0.3, 1, 0, 0.5)])

    assert headers == {
        "RateLimit-Policy": '"order.close";q=100;w=50, "b";q=1;w=4',
        "RateLimit": '"order.close";r=40;t=30, "b";r=0;t=1',
    }


def test_where_no_limit_decided_there_is_no_header() -> None:
    assert limit_headers([]) == {}
