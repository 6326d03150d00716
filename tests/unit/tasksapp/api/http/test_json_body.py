"""JSON by the letter: what a request may carry, and how everything else is refused."""

from __future__ import annotations

import io
import json
import time
from typing import Any
from uuid import UUID

import pytest

from tasksapp.api.http import json_body
from tasksapp.api.http.json_body import ENVELOPE_BYTES, ESCAPES, fields_of, parse, read_object
from tasksapp.api.http.problems import Refused


class Body:
    """A request, as far as its body matters."""

    def __init__(self, raw: bytes, *, content_type: str = "application/json", length: str | None = None) -> None:
        self.META: dict[str, Any] = {"CONTENT_TYPE": content_type, "CONTENT_LENGTH": length or str(len(raw))}
        self.read = io.BytesIO(raw).read


def refusal_of(body: Body, *, max_bytes: int = 1_000) -> tuple[int, str]:
    """The status and the sentence with which the body is refused."""
    with pytest.raises(Refused) as refused:
        read_object(body, max_bytes=max_bytes)
    return refused.value.problem.status, refused.value.problem.detail


def test_an_object_is_read_as_it_stands() -> None:
    body = Body('{"task": {"order": [1, 1.5, "ä☃", null, true]}}'.encode())

    assert read_object(body, max_bytes=1_000) == {"task": {"order": [1, 1.5, "ä☃", None, True]}}


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON ;charset=utf-8"]
)
def test_json_is_named_in_any_of_its_usual_ways(content_type: str) -> None:
    assert read_object(Body(b"{}", content_type=content_type), max_bytes=10) == {}


@pytest.mark.parametrize(("content_type", "named"), [("text/plain", "got text/plain"), ("", "got no content type")])
def test_another_type_is_named_in_its_refusal(content_type: str, named: str) -> None:
    status, detail = refusal_of(Body(b"{}", content_type=content_type))

    assert status == 415
    assert named in detail


def test_a_body_may_have_so_many_bytes_and_not_one_more() -> None:
    raw = b'{"a":"' + b"x" * 92 + b'"}'

    assert read_object(Body(raw), max_bytes=100)
    assert refusal_of(Body(raw + b" "), max_bytes=100) == (413, "The body may have 100 bytes, got 101.")


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"[]", "must be a JSON object, got an array"),
        (b'"x"', "got a string"),
        (b"true", "got a boolean"),
        (b"null", "got null"),
        (b"7", "got a number"),
        # not JSON at all, or not by the letter
        (b" ", "The body is not JSON"),
        (b"{", "The body is not JSON"),
        (b"{'a': 1}", "The body is not JSON"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"a": 1, "b": 2, "a": 3}', "the name 'a' is given twice in one object"),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "A number in the body has too many digits."),
        # text that no receiver could take
        (b'{"a": "\xff"}', "not UTF-8 (byte 7)"),
        (b'{"a": "\\ud800"}', "half a surrogate pair"),
        (b'{"body": "\\ud800"}', "half a surrogate pair"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
    ],
)
def test_what_is_not_an_object_is_refused_with_the_reason(raw: bytes, sentence: str) -> None:
    status, detail = refusal_of(Body(raw), max_bytes=200_000)

    assert status == 400
    assert sentence in detail


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert parse(b'"\\ud83d\\udeb2"') == "🚲"


@pytest.mark.parametrize("length", ["0", ""])
def test_a_request_without_a_body_carries_nothing(length: str) -> None:
    body = Body(b"", content_type="", length=length)
    body.META["CONTENT_LENGTH"] = length

    assert fields_of(body) == {}


def test_a_request_may_be_longer_than_the_body_of_its_job(settings: Any) -> None:
    settings.DELAYHUB = {"BODY_BYTES": 131_072}
    most = 131_072 * ESCAPES + ENVELOPE_BYTES
    raw = b'{"a":"' + b"x" * (most - 8) + b'"}'

    assert fields_of(Body(raw))
    with pytest.raises(Refused):
        fields_of(Body(raw + b" "))


def test_where_bodies_are_small_a_filter_may_name_a_thousand_ids_all_the_same(settings: Any) -> None:
    settings.DELAYHUB = {"BODY_BYTES": 100}
    ids = [str(UUID(int=number)) for number in range(1_000)]

    assert fields_of(Body(json.dumps({"verb": "drop", "filter": {"ids": ids}}).encode()))["filter"] == {"ids": ids}


def test_a_name_that_is_given_twice_among_many_is_found_at_once() -> None:
    names = [f"n{number}" for number in range(20_000)]
    raw = json.dumps(dict.fromkeys(names, 0))[:-1] + ', "n19999": 1}'

    began = time.process_time()
    with pytest.raises(Refused) as refused:
        parse(raw.encode())

    assert "'n19999' is given twice" in refused.value.problem.detail
    assert time.process_time() - began < 1


def test_few_large_texts_are_decoded_at_once_and_small_ones_never_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_body, "ROOM_SECONDS", 0.01)
    large = b"[" + b"1," * (json_body.LARGE_BYTES // 2) + b"1]"

    with json_body.room_to_decode(), json_body.room_to_decode():
        assert parse(b"[1]") == [1]
        with pytest.raises(Refused) as refused:
            parse(large)

    assert (refused.value.problem.status, refused.value.problem.again_seconds) == (503, 1)
    assert len(parse(large)) == json_body.LARGE_BYTES // 2 + 1
