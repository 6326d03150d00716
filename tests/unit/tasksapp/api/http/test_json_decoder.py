"""Requests decoded: the same values and refusals as Python's own decoder, and bodies as they were written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksapp.api.http.json_decoder import MAX_BULK, TooManyJobs, decode
from tasksapp.jobs.written_json import WrittenJson

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("body"), inner))
requests = st.dictionaries(st.sampled_from(["body", "jobs", "biz_type", ""]), values) | values
#: How callers write JSON: compact, with blanks, on several lines, with or without escapes.
writers = st.sampled_from(
    [
        lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        json.dumps,
        lambda value: "\r\n " + json.dumps(value, indent="\t", ensure_ascii=False) + "\n ",
    ]
)


def plain(value: Any) -> Any:
    """The value without the texts of bodies."""
    if isinstance(value, WrittenJson):
        return value.value
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def outcome(decoder: Callable[[str], Any], text: str) -> Any:
    """What it decodes, or the words of its refusal."""
    try:
        return plain(decoder(text))
    except ValueError as error:
        return f"refused: {error}"


@pytest.mark.parametrize(
    "body",
    [
        "1e2",
        "100.00",
        "-0",
        "0.1000000000000000055511151231257827",
        '"\\u00e4\\/"',
        '{ "b" : 1,"a":[ 1 , 2 ] }',
        "{}",
        "[]",
        "null",
        "true",
        '"body"',
        '{"body": 1e2}',
    ],
)
def test_a_body_keeps_the_text_of_its_caller(body: str) -> None:
    written = WrittenJson(json.loads(body), body)

    assert decode(f'{{"biz_type":"a", "body" : {body}\n}}') == {"biz_type": "a", "body": written}
    assert decode(f'{{"jobs":[{{"body":{body} }} , {{"body":{body}}}, 7]}}') == {
        "jobs": [{"body": written}, {"body": written}, 7]
    }


@pytest.mark.parametrize(
    "job",
    [
        '{"body":%s}',
        ' { "a" : "x" , "b":1.5e3,\t"c":null, "body" :\n%s , "d":true}',
        '{"body":%s,"a":{"body":1e3}}',
        '{"a":{"body":1e3},"body":%s}',
        '{"a":"\\"body\\":1e3","body":%s}',
        '{"b\\u006fdy":%s}',
        '{"a":"body","body":%s}',
        '{"a":"}, {\\"","body":%s , "z":[]}',
    ],
)
@pytest.mark.parametrize("body", ["1e2", '"body"', '{"body" : 1e2}', '"}"', "[ ]"])
def test_wherever_it_stands_among_its_members(job: str, body: str) -> None:
    text = job.replace("%s", body)

    for decoded in (decode(text), *decode(f'{{"jobs":[{text},{text} ]}}')["jobs"]):
        assert decoded["body"] == WrittenJson(json.loads(body), body)
        assert plain(decoded) == json.loads(text)


def test_only_the_body_of_a_job_does() -> None:
    text = '{"jobs": {"body": 1e2}, "other": {"body": 1e2}, "list": [{"body": 1e2}]}'

    assert decode(text) == json.loads(text)
    assert decode('[{"body": 1e2}]') == [{"body": 100.0}]


@given(request=requests, write=writers)
def test_what_python_decodes_is_decoded_alike(request: Any, write: Any) -> None:
    text = write(request)

    assert plain(decode(text)) == json.loads(text)


@given(request=requests, write=writers, data=st.data())
def test_what_python_refuses_is_refused_in_the_same_words(request: Any, write: Any, data: st.DataObject) -> None:
    text = write(request)
    at = data.draw(st.integers(0, len(text)))
    broken = data.draw(st.sampled_from([text[:at], text[:at] + text[at + 1 :], f"{text[:at]},{text[at:]}"]))

    found, expected = outcome(decode, broken), outcome(json.loads, broken)

    # Python takes the last of several members of one name.
    assert found == expected or "given twice" in str(found)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": 1, "a": 2}', "'a' is given twice"),
        ('{"body": {"a": 1, "a": 2}}', "'a' is given twice"),
        ('{"body": 1, "body": 1}', "'body' is given twice"),
        ('{"jobs": [{"body": 1, "body": 2}]}', "'body' is given twice"),
        ('{"body": NaN}', "NaN is not a JSON number"),
        ('{"jobs": [{"body": [Infinity]}]}', "Infinity is not a JSON number"),
    ],
)
def test_what_only_we_refuse_is_refused_wherever_it_stands(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        decode(text)


def test_decoding_stops_after_the_jobs_that_one_request_may_have() -> None:
    # What follows is no JSON: it is not looked at.
    with pytest.raises(TooManyJobs):
        decode('{"jobs": [' + "{}," * MAX_BULK + "{}, oops")

    assert len(decode('{"jobs": [' + "{}," * (MAX_BULK - 1) + "{}]}")["jobs"]) == MAX_BULK
