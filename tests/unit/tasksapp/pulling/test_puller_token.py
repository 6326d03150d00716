"""Tokens of claims: whole or nothing."""

from __future__ import annotations

from uuid import UUID

import pytest

from tasksapp.pulling.puller import TOKEN_LENGTH, ClaimToken, new_lease

JOB = UUID("01a1fcb9-e182-7773-bac4-bf777e5e56f2")


def test_a_token_is_one_word_and_back() -> None:
    token = ClaimToken(JOB, new_lease())

    assert len(str(token)) == TOKEN_LENGTH
    assert ClaimToken.parse(str(token)) == token


def test_the_mark_of_a_token_is_no_token() -> None:
    token = ClaimToken(JOB, 7)

    assert token.mark == ClaimToken(JOB, 7).mark != ClaimToken(JOB, 8).mark
    assert ClaimToken.parse(token.mark) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        str(ClaimToken(JOB, 7))[:-1],
        str(ClaimToken(JOB, 7)) + "A",
        "!" * TOKEN_LENGTH,
        "ä" * TOKEN_LENGTH,
        # a lease that no column takes
        str(ClaimToken(JOB, 2**63)),
        # signs that base64 passes over
        "A" * 28 + "====",
        "AAAA\n" + "A" * 27,
    ],
)
def test_what_is_no_token_is_none(text: str) -> None:
    assert ClaimToken.parse(text) is None


def test_leases_do_not_repeat_and_fit_the_column() -> None:
    leases = {new_lease() for _ in range(1_000)}

    assert len(leases) == 1_000
    assert all(0 <= lease < 2**63 for lease in leases)
