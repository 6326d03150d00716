"""Owners in the settings to whom nothing could be sent are errors of the system check."""

from __future__ import annotations

from typing import Any

import pytest

from delayhub.webhooks.signature import new_secret
from tasksapp.alerts.settings_check import check_being_told, check_owner


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        ({}, ["delayhub.W024", "delayhub.W025"]),
        ({"OWNER_MAIL": ["ann@shop.example"]}, ["delayhub.W025"]),
        ({"OWNER_URL": "https://x.example/", "SITE_URL": "https://d.example"}, []),
        # another check reports it
        ({"LEASE_SECONDS": -1}, []),
    ],
)
def test_before_a_deployment_alerts_that_reach_no_one_are_a_warning(settings: Any, given: Any, ids: list[str]) -> None:
    settings.DELAYHUB = given

    found = check_being_told()

    assert [warning.id for warning in found] == ids
    assert all(warning.hint for warning in found)


@pytest.mark.parametrize(
    ("given", "sentences"),
    [
        ({}, []),
        ({"OWNER_MAIL": ["ann@shop.example"], "OWNER_URL": "https://x.example/", "OWNER_SECRET": new_secret()}, []),
        ({"OWNER_MAIL": ["ann"]}, ["DELAYHUB['OWNER_MAIL']: 'ann' is no mail address"]),
        ({"OWNER_URL": "ftp://x"}, ["DELAYHUB['OWNER_URL']: The URL must begin with http:// or https://."]),
        ({"OWNER_SECRET": "short"}, ["DELAYHUB['OWNER_SECRET']: a signing secret must"]),
        # other checks report these
        ({"LEASE_SECONDS": -1}, []),
        (["no dict"], []),
    ],
)
def test_an_owner_who_cannot_be_told_is_an_error(settings: Any, given: Any, sentences: list[str]) -> None:
    settings.DELAYHUB = given

    found = check_owner()

    assert [error.id for error in found] == ["delayhub.E019"] * len(sentences)
    assert all(error.msg.startswith(sentence) for error, sentence in zip(found, sentences, strict=True))
