"""Charts: what is drawn, and that the numbers can be read without seeing it."""

from __future__ import annotations

import re

from tasksapp.admin.frame.charts import Series, chart

DONE = Series(name="done", kind="done", values=[100, 0, 50])
FAILED = Series(name="failed", kind="failed", values=[0, 0, 50])
LATE = Series(name="late", kind="late", values=[8, None, 41], shown=lambda ms: f"{ms} ms")


def test_bars_stand_on_each_other_and_the_tallest_column_is_as_tall_as_the_drawing() -> None:
    drawn = chart(["14:00", "15:00", "16:00"], name="Last hours", bars=[DONE, FAILED])

    bars = re.findall(r'<rect class="delayhub-fill-(\w+)" x="(\d+)" y="([\d.]+)" width="8" height="([\d.]+)"/>', drawn)
    assert bars == [
        ("done", "1", "0.0", "100.0"),
        ("done", "21", "50.0", "50.0"),
        ("failed", "21", "0.0", "50.0"),
    ]


def test_each_column_says_its_numbers_and_a_table_has_them_all() -> None:
    drawn = chart(["14:00", "15:00", "16:00"], name="Last hours", bars=[DONE, FAILED], lines=[LATE])

    assert "<title>16:00\ndone: 50\nfailed: 50\nlate: 41 ms</title>" in drawn
    assert '<th scope="row">14:00</th><td class="delayhub-number">100</td>' in drawn
    assert "late, at most 41 ms" in drawn
    assert '<th scope="row">15:00</th>' not in drawn, "hundreds of empty rows say nothing"


def test_a_note_stands_with_its_column() -> None:
    drawn = chart(
        ["14:00", "15:00"],
        name="Ahead",
        bars=[Series(name="due", kind="coming", values=[7, 0])],
        notes=["all of a", ""],
    )

    assert "<title>14:00\ndue: 7\nall of a</title>" in drawn
    assert "<td>all of a</td>" in drawn


def test_a_line_has_a_gap_where_there_is_no_value() -> None:
    drawn = chart(list("abcd"), name="Late", lines=[Series(name="late", kind="late", values=[1, 2, None, 4])])

    assert len(re.findall("<polyline", drawn)) == 2


def test_nothing_is_drawn_for_no_numbers() -> None:
    assert "<rect" not in chart([], name="Nothing", bars=[Series(name="done", kind="done", values=[])])
    assert "delayhub-fill" not in chart(["a"], name="Zero", bars=[Series(name="done", kind="done", values=[0])])
    assert "<polyline" not in chart(["a"], name="None", lines=[Series(name="late", kind="late", values=[None])])


def test_texts_are_escaped_and_there_is_no_style_in_the_page() -> None:
    drawn = chart(["<b>"], name='"><script>', bars=[Series(name="<i>", kind="done", values=[1])])

    assert not re.search(r"<(b|i|script)>", drawn)
    assert "style=" not in drawn
