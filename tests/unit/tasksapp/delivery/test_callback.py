"""A target says what its callbacks wait by."""

from __future__ import annotations

from tasksapp.delivery.callback import Target


def test_callbacks_of_two_biz_types_of_one_code_wait_apart() -> None:
    ours, theirs = (Target(biz_type="close", queue=queue, url="http://a/", host="a") for queue in ("close", "close~1"))

    assert ours.line != theirs.line


def test_the_code_is_enough_where_no_queue_is_named() -> None:
    assert Target(biz_type="close", url="http://a/", host="a").line == "close"
