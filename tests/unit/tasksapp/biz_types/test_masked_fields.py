"""Masks in bodies, marks that can be compared, and masks in texts that come back."""

from __future__ import annotations

import html
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from django.test import override_settings
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksapp.biz_types.masked_fields import (
    MASK,
    MOST_VALUES,
    Masks,
    hide_all,
    masks_of,
    not_masked_by,
    pointer_complaint,
)
from tasksapp.models import BizType
from tests.property_sizes import examples

NOON = datetime(2027, 1, 31, 12, tzinfo=UTC)
CARD = "4111111111111111"


def masks(*pointers: str, biz_type_id: int = 7, made_at: datetime = NOON) -> Masks:
    return Masks(BizType(pk=biz_type_id, masked_fields=list(pointers)), made_at=made_at)


def mark(value: Any, *, pointer: str = "/a", **about: Any) -> str:
    return str(json.loads(masks(pointer, **about).shown(json.dumps({pointer[1:]: value})))[pointer[1:]])


@pytest.mark.parametrize(
    ("pointers", "body", "shown"),
    [
        (["/card/number"], '{"card": {"number": "1", "kind": 1e2}}', '{"card": {"number": "[masked]", "kind": 1e2}}'),
        # a list's element, and every one
        (["/a/1"], "[0]", "[0]"),
        (["/a/1"], '{"a":[1,2,3]}', '{"a":[1,"[masked]",3]}'),
        (["/*/pin"], '[{"pin":1},{"pin":null},{"tin":1}]', '[{"pin":"[masked]"},{"pin":"[masked]"},{"tin":1}]'),
        (["/a/*"], '{"a":{"x":true,"y":false}}', '{"a":{"x":"[masked]","y":"[masked]"}}'),
        # what the pointer escapes, and names that JSON escapes
        (["/a~1b"], '{"a/b":1}', '{"a/b":"[masked]"}'),
        (["/m~0n"], '{"m~n":1}', '{"m~n":"[masked]"}'),
        (["/é"], '{"\\u00e9":1}', '{"\\u00e9":"[masked]"}'),
        (["/"], '{"":1}', '{"":"[masked]"}'),
        # the whole body
        ([""], "7", '"[masked]"'),
        ([""], '{"a":7}', '"[masked]"'),
        # one that holds another, and a member that is there twice
        (["/a", "/a/b"], '{"a":{"b":1},"c":2}', '{"a":"[masked]","c":2}'),
        (["/a"], '{"a":1,"a":2}', '{"a":"[masked]","a":"[masked]"}'),
        # signs of JSON inside of strings are none
        (["/b"], '{"a":"},\\"b\\":[","b":"]"}', '{"a":"},\\"b\\":[","b":"[masked]"}'),
        (["/b"], '{"a":{},"b":[],"c":[[]]}', '{"a":{},"b":"[masked]","c":[[]]}'),
        # what no pointer leads to is left as it was written
        (["/x"], ' { "a" : 1.10 } ', ' { "a" : 1.10 } '),
    ],
)
def test_a_body_is_shown_with_masks_and_all_else_as_it_was_written(pointers: list[str], body: str, shown: str) -> None:
    assert masks(*pointers).shown(body) == shown


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(value=JSON, name=st.text(max_size=4), secret=JSON)
@settings(max_examples=examples(100))
def test_of_any_body_the_field_is_masked_and_nothing_else_is_changed(value: Any, name: str, secret: Any) -> None:
    pointer = f"/in/{name.replace('~', '~0').replace('/', '~1')}"
    body = {"before": value, "in": {name: secret}, "after": [value]}

    shown = json.loads(masks(pointer).shown(json.dumps(body)))

    assert shown["in"][name].startswith("[masked")
    assert {**shown, "in": body["in"]} == body


def test_equal_values_have_equal_marks_in_one_field_biz_type_and_day_only() -> None:
    first = mark(CARD)

    assert first.startswith("[masked ")
    assert CARD not in first
    assert mark(CARD, made_at=NOON + timedelta(hours=11)) == first
    assert mark(CARD[:-1] + "2") != first
    assert mark(CARD, pointer="/b") != first
    assert mark(CARD, biz_type_id=8) != first
    assert mark(CARD, made_at=NOON + timedelta(days=1)) != first


def test_the_mark_follows_from_the_newest_key() -> None:
    first = mark(CARD)

    with override_settings(SECRET_KEY="another, which is long enough"):
        assert mark(CARD) != first


def test_equal_values_of_different_elements_can_be_compared() -> None:
    shown = json.loads(masks("/*/n").shown(json.dumps([{"n": CARD}, {"n": CARD}])))

    assert shown[0] == shown[1]


@pytest.mark.parametrize("value", ["", "1234", 1234, True, None, "1990-01-31", 0.5, {}])
def test_a_value_of_which_there_are_few_has_no_mark(value: Any) -> None:
    assert mark(value) == MASK


@pytest.mark.parametrize(
    ("pointers", "complains"),
    [
        ([], False),
        (["", "/", "/a/0", "/a~0~1/*", "/with a blank", "/é"], False),
        ("/a", True),
        ({"/a": 1}, True),
        (["a"], True),
        (["$.a"], True),
        (["/a~2"], True),
        (["/a\n"], True),
        ([7], True),
        (["/" + "a" * 200], True),
        (["/a"] * 51, True),
    ],
)
def test_only_json_pointers_are_taken(pointers: Any, complains: bool) -> None:
    assert (pointer_complaint(pointers) is not None) is complains


def test_a_biz_type_without_masked_fields_has_no_masks() -> None:
    assert masks_of(BizType(), made_at=NOON) is None


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ('{"a":"[masked]"}', "/a"),
        ('{"a":"[masked 0123456789ab]"}', "/a"),
        ('{"a":"masked"}', None),
        ('{"b":"[masked]"}', None),
        ('{"a":{"b":"[masked]"}}', None),
    ],
)
def test_a_mask_is_known_again_where_it_stands_for_a_field(body: str, place: str | None) -> None:
    assert masks("/a").mask_within(body) == place


# ---------------------------------------------------------------- texts that come back


def hidden(text: str, value: Any, *, pointers: tuple[str, ...] = ("/a",)) -> str:
    return masks(*pointers).hiding(json.dumps({"a": value}))(text)


NAME = 'Jérôme "Jo" O\'Brien & <Sons>/1'


@pytest.mark.parametrize(
    "written",
    [
        NAME, NAME.upper(), json.dumps(NAME), json.dumps(NAME, ensure_ascii=False),
        json.dumps(NAME).replace("/", "\\/"),
        repr(NAME), repr(KeyError(NAME)), quote(NAME), quote(NAME, safe=""), quote_plus(NAME), html.escape(NAME),
        # as markupsafe and most of PHP, as Go, and where no attribute is written
        html.escape(NAME).replace("&#x27;", "&#39;"),
        html.escape(NAME).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"), html.escape(NAME, quote=False),
        # encodeURIComponent, encodeURI, a browser's form
        quote(NAME, safe="!'()*"), quote(NAME, safe="!'()*;/?:@&=+$,#"), quote_plus(NAME, safe="*"),
        # JSON that was cut, or stands in another text, as Go and Ruby, Java and .NET write it
        json.dumps(NAME).translate(str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})),
        json.dumps(NAME, ensure_ascii=False).translate(
            str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027", "=": "\\u003d"})
        ),
        json.dumps(NAME).translate(
            str.maketrans({"<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "'": "\\u0027", "+": "\\u002B"})
        ),
        json.dumps({"echo": {"name": NAME}}), json.dumps(json.dumps({"echo": NAME})), f"x{NAME}x",
    ],
    ids=range(23),
)  # fmt: skip
def test_a_value_is_hidden_however_a_text_writes_it(written: str) -> None:
    text = hidden(f"no such customer: {written}.", NAME) if written[0] != "{" else hidden(written, NAME)

    assert "Brien" not in text.replace("BRIEN", "Brien")
    assert mark(NAME) in text


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        (123, "pin 123 of 41236, 123.", "pin [masked] of 41236, [masked]."),
        ("123", "cvv=123_4", "cvv=[masked]_4"),
        (1e2, "100.0 1e2", "[masked] 1e2"),
        (1e22, '{"n": 1E+22}', '{"n": "[masked]"}'),
        # these would make every text unreadable, and tell nothing
        (True, "true", "true"),
        (None, "null", "null"),
        ("", "all of it", "all of it"),
        (" ", "all of it", "all of it"),
        # JSON stays JSON
        (123, '{"pin": 123, "n": 1234, "s": "123, 5"}', '{"pin": "[masked]", "n": 1234, "s": "[masked], 5"}'),
        (["x1", {"y": "x2"}], "x1 x2 x3", "[masked] [masked] x3"),
        ("word", "Word, sword", "[masked], sword"),
        (123, "", ""),
    ],
)
def test_only_the_value_itself_is_hidden(value: Any, text: str, shown: str) -> None:
    assert hidden(text, value) == shown


@pytest.mark.parametrize("length", range(4, 16))
def test_what_is_left_of_a_value_at_the_end_of_a_text_that_was_cut_is_hidden(length: int) -> None:
    assert hidden(f'{{"echo": "{CARD[:length]}', CARD) == f'{{"echo": "{mark(CARD)}'


def test_half_a_character_at_the_end_hides_nothing_from_this() -> None:
    assert hidden("the name Amélie\ufffd", "Amélieé of Paris") == f"the name {mark('Amélieé of Paris')}"


def test_of_very_many_values_the_whole_text_is_hidden() -> None:
    many = {"a": [f"value {number}" for number in range(MOST_VALUES + 1)]}

    assert masks("/a").hiding(json.dumps(many))("anything") == MASK
    assert hide_all("") == ""


@given(secret=st.text(min_size=4, max_size=40).filter(str.strip), around=st.text(max_size=20))
@settings(max_examples=examples(100))
def test_no_text_that_repeats_a_body_has_the_value(secret: str, around: str) -> None:
    body = json.dumps({"a": secret, "b": around})

    shown = masks("/a").hiding(body)(body)

    assert json.loads(shown)["a"].startswith("[masked")


def test_a_follow_up_that_masks_the_same_fields_leaves_nothing_open() -> None:
    assert not_masked_by(["/card"], ["/body/card"], within="/body") == []
    assert not_masked_by(["/card/number"], ["/body/card"], within="/body") == []
    assert not_masked_by(["/card"], ["/body"], within="/body") == []
    assert not_masked_by(["/a/x"], ["/body/*/x"], within="/body") == []
    assert not_masked_by(["/card", "/pin"], ["/body/card"], within="/body") == ["/pin"]
    assert not_masked_by(["/*/x"], ["/body/a/x"], within="/body") == ["/*/x"]
    assert not_masked_by(["/card"], ["/card"], within="/body") == ["/card"]
