"""JSON for people: in lines, with its numbers and strings as they were written."""

from __future__ import annotations

import json

import pytest

from tasksapp.admin.frame.masking import indented


def test_objects_and_lists_have_lines_of_their_own() -> None:
    assert indented('{"a":[1,{"b":null}],"c":{}, "d" : [ ]}') == (
        '{\n  "a": [\n    1,\n    {\n      "b": null\n    }\n  ],\n  "c": {},\n  "d": []\n}'
    )


@pytest.mark.parametrize(
    "value",
    ["1e2", "100.00", "90071992547409931234567890", "-0", "1E+400", '"\\u00e9"', '"a\\"b, {c}: [d]"', "9" * 5_000],
)
def test_numbers_and_strings_stay_as_they_were_written(value: str) -> None:
    assert indented(f'{{"a":{value}}}') == f'{{\n  "a": {value}\n}}'


@pytest.mark.parametrize("text", ["", "oops", "<html>", "{'a': 1}", '{"a": 1', "[" * 50_000])
def test_what_is_no_json_stays_as_it_is(text: str) -> None:
    assert indented(text) == text


@pytest.mark.parametrize("value", [{}, [], {"a": [[], {}, [[1], "x,y"]]}, "text", None, [True, False, 1.5, "日本 🎉"]])
def test_it_is_what_the_standard_library_makes(value: object) -> None:
    assert indented(json.dumps(value, ensure_ascii=False)) == json.dumps(value, indent=2, ensure_ascii=False)
