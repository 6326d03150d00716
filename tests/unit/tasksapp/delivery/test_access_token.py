"""What is read of the answers of token servers, good, odd and lying."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tasksapp.delivery.access_token import LONGEST_ANSWER, AccessToken, NoToken, read_token

GOOD = {"access_token": "abc", "token_type": "Bearer", "expires_in": 3_600}


def read(body: Any, status: int = 200) -> AccessToken:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_token(status, raw, made_ms=1_000_000)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ({"expires_in": 3_600}, 3_540),
        ({"expires_in": "3600"}, 3_540),  # some servers write it so
        ({"expires_in": 300}, 270),  # a tenth of its life is left where a minute would be more
        ({}, 270),
        ({"expires_in": None}, 270),
        ({"expires_in": "soon"}, 270),
        ({"expires_in": True}, 270),
        ({"expires_in": [3_600]}, 270),
        ({"expires_in": float("nan")}, 270),
        ({"expires_in": 0}, 27),
        ({"expires_in": -5}, 27),
        ({"expires_in": 1e12}, 86_340),
        ({"expires_in": float("inf")}, 86_340),
        ({"expires_in": "9" * 15}, 86_340),
        ({"expires_in": "9" * 4_000}, 270),
    ],
)
def test_a_token_is_used_until_shortly_before_its_end_whatever_its_server_says(
    said: dict[str, Any], seconds: int
) -> None:
    body = {"access_token": "abc", "token_type": "bEaReR", **said}

    assert read(body) == AccessToken("abc", made_ms=1_000_000, ends_ms=1_000_000 + seconds * 1000)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (503, b"<html>hush</html>", "status 503"),
        (400, {"error": "invalid_client", "error_description": "hush"}, "status 400 (invalid_client)"),
        (401, {"error": "hush"}, "status 401"),  # none of RFC 6749's words: it may be an echo of the secret
        (401, {"error": ["invalid_client"]}, "status 401"),
        (302, b"", "status 302: redirects are not followed"),
        (200, b"", "its answer is no JSON object"),
        (200, b"hush", "its answer is no JSON object"),
        (200, b"[" * 60_000, "its answer is no JSON object"),
        (200, b'{"expires_in": ' + b"9" * 5_000 + b"}", "its answer is no JSON object"),
        (200, ["hush"], "its answer is no JSON object"),
        (200, b" " * (LONGEST_ANSWER + 1), f"its answer has more than {LONGEST_ANSWER} bytes"),
        (200, {**GOOD, "token_type": "mac"}, "its answer has a token_type other than bearer"),
        (200, {**GOOD, "token_type": None}, "its answer has a token_type other than bearer"),
        (200, {**GOOD, "token_type": 5}, "its answer has a token_type other than bearer"),
        (200, {**GOOD, "access_token": 5}, "its answer has no access_token that a header can hold"),
        (200, {**GOOD, "access_token": ""}, "its answer has no access_token that a header can hold"),
        (200, {**GOOD, "access_token": "a\r\nX: 1"}, "its answer has no access_token that a header can hold"),
        (200, {**GOOD, "access_token": "a b"}, "its answer has no access_token that a header can hold"),
        (200, {**GOOD, "access_token": "ä"}, "its answer has no access_token that a header can hold"),
        (200, {**GOOD, "access_token": "a" * 9_000}, "its answer has no access_token that a header can hold"),
    ],
)
def test_an_answer_without_a_token_says_why_and_repeats_nothing_of_it(status: int, body: Any, reason: str) -> None:
    with pytest.raises(NoToken) as raised:
        read(body, status)

    assert raised.value.reason == reason
    assert "hush" not in str(raised.value)
