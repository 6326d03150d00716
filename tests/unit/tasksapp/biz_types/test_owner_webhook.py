"""The beginning of an owner's address says who is to read what is posted there."""

from __future__ import annotations

import pytest

from tasksapp.biz_types.owner_webhook import OwnerWebhook, PostFormat, owner_webhook

PAGERDUTY = "https://events.pagerduty.com/v2/enqueue"


@pytest.mark.parametrize(
    ("address", "taken_apart"),
    [
        ("https://ops.example/hook", OwnerWebhook(PostFormat.OWN, "https://ops.example/hook")),
        ("https://ops.example/a+b", OwnerWebhook(PostFormat.OWN, "https://ops.example/a+b")),
        (
            "slack+https://hooks.slack.com/services/T/B",
            OwnerWebhook(PostFormat.SLACK, "https://hooks.slack.com/services/T/B"),
        ),
        ("Teams+https://x.example/w?sig=a+b", OwnerWebhook(PostFormat.TEAMS, "https://x.example/w?sig=a+b")),
        (
            "pagerduty+https://a%2Fkey@events.pagerduty.com/v2/enqueue",
            OwnerWebhook(PostFormat.PAGERDUTY, PAGERDUTY, "a/key"),
        ),
        ("irc+https://x.example/", OwnerWebhook(PostFormat.OWN, "irc+https://x.example/")),
    ],
)
def test_an_address_is_taken_apart(address: str, taken_apart: OwnerWebhook) -> None:
    assert owner_webhook(address) == taken_apart


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("pagerduty+https://events.pagerduty.com/v2/enqueue", "The routing key is missing"),
        ("slack+https://127.0.0.1/hook", "not a public address"),
        ("slack+ftp://hooks.slack.com/", "http"),
        ("irc+https://x.example/", "http"),
    ],
)
def test_an_address_to_which_nothing_could_be_posted_is_refused(address: str, words: str, settings: object) -> None:
    assert words in (owner_webhook(address).complaint or "")


@pytest.mark.parametrize("address", ["teams+https://x.example/w", f"pagerduty+{PAGERDUTY.replace('//', '//key@')}"])
def test_others_are_taken(address: str) -> None:
    assert owner_webhook(address).complaint is None
