"""The Idempotency-Key header: a string of structured fields, or the plain word that many clients send."""

from __future__ import annotations

import pytest

from tasksapp.api.http.problems import Refused
from tasksapp.api.jobs.creation import idempotency_key


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ('"8e03978e-40d5-43dd-bc93-6894a57f9324"', "8e03978e-40d5-43dd-bc93-6894a57f9324"),
        ('  "a b"  ', "a b"),
        (r'"a\"b\\c"', 'a"b\\c'),
        ('"' + "x" * 200 + '"', "x" * 200),
        # without the quotes
        ("k-1", "k-1"),
        ("order:42/close@shop", "order:42/close@shop"),
    ],
)
def test_a_key_is_what_the_quotes_hold(header: str, key: str) -> None:
    assert idempotency_key({"HTTP_IDEMPOTENCY_KEY": header}) == key


def test_without_the_header_there_is_no_key() -> None:
    assert idempotency_key({}) is None


@pytest.mark.parametrize(
    "header",
    [
        *(
            "",
            " ",
            '""',
            '"',
            '"a',
            'a"',
            '"a" "b"',
            '"a", "b"',
            "a b",
            "a,b",
            '"a";q=1',
            '"é"',
            "é",
            r'"\n"',
            '"\x7f"',
        ),
        *('"\x7f"', '"' + "x" * 201 + '"', "x" * 201),
    ],
)
def test_anything_else_is_malformed(header: str) -> None:
    with pytest.raises(Refused) as refused:
        idempotency_key({"HTTP_IDEMPOTENCY_KEY": header})

    assert (refused.value.problem.status, refused.value.problem.code) == (400, "malformed_idempotency_key")
