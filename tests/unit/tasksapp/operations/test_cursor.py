"""What an operation's row keeps between turns."""

from __future__ import annotations

from tasksapp.models import Operation
from tasksapp.operations.cursor import Cursor, Walk


def test_it_is_the_same_after_the_database() -> None:
    cursor = Cursor(starter="user", walks=[Walk(biz_type=3, after=["a"], feed=7.5)], trial="running", per_second=2.5)

    assert Cursor.of(Operation(cursor=cursor.as_dict())) == cursor


def test_what_another_release_wrote_does_not_count() -> None:
    written = {"starter": "key", "colour": "red", "walks": [{"biz_type": 3, "colour": "red"}]}

    assert Cursor.of(Operation(cursor=written)) == Cursor(starter="key", walks=[Walk(biz_type=3)])
