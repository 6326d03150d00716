"""Nobody reads the metrics but those who are let in."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Permission, User
from django.test import RequestFactory

from tasksapp.metrics.views import may_scrape

TOKEN = "a-token-of-the-scraper"


def scrape(user: Any = None, **headers: str) -> bool:
    request = RequestFactory().get("/metrics", **headers)  # type: ignore[arg-type]  # META
    request.user = user or AnonymousUser()
    return may_scrape(request)


def bearer(token: str) -> dict[str, str]:
    return {"HTTP_AUTHORIZATION": f"Bearer {token}"}


def test_by_default_they_are_open_to_no_scraper_not_even_on_this_machine() -> None:
    assert not scrape()
    assert not scrape(REMOTE_ADDR="127.0.0.1")
    assert not scrape(**bearer(""))


def test_one_of_the_tokens_lets_in(settings: Any) -> None:
    settings.DELAYHUB = {"METRICS_TOKENS": ["one-of-the-old-tokens", TOKEN]}

    assert scrape(**bearer(TOKEN))
    assert scrape(HTTP_AUTHORIZATION=f"bearer {TOKEN}")
    for wrong in (TOKEN[:-1], TOKEN + "x", "", "\u00e9"):
        assert not scrape(**bearer(wrong))
    assert not scrape(HTTP_AUTHORIZATION=f"Basic {TOKEN}")


@pytest.mark.parametrize(
    ("address", "near"),
    [("10.1.2.3", True), ("::ffff:10.1.2.3", True), ("fd00::7", True), ("10.2.0.1", False), ("", False)],
)
def test_a_network_that_the_settings_name_lets_in(settings: Any, address: str, near: bool) -> None:
    settings.DELAYHUB = {"METRICS_NETWORKS": ["10.1.0.0/16", "fd00::/8"]}

    assert scrape(REMOTE_ADDR=address) == near


def test_a_proxy_that_the_settings_do_not_know_lets_nobody_in_by_its_own_address(settings: Any) -> None:
    settings.DELAYHUB = {"METRICS_NETWORKS": ["127.0.0.0/8"]}

    assert scrape(REMOTE_ADDR="127.0.0.1")
    assert not scrape(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="127.0.0.1")
    assert not scrape(REMOTE_ADDR="127.0.0.1", HTTP_FORWARDED="for=127.0.0.1")


def test_behind_a_known_proxy_its_clients_address_counts(settings: Any) -> None:
    settings.DELAYHUB = {"METRICS_NETWORKS": ["10.1.0.0/16"]}
    settings.REST_FRAMEWORK = {"NUM_PROXIES": 1}

    assert scrape(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="10.1.2.3")
    assert not scrape(REMOTE_ADDR="10.1.0.1", HTTP_X_FORWARDED_FOR="10.1.2.3, 203.0.113.9")


@pytest.mark.django_db
def test_people_need_the_permission_to_see_the_system() -> None:
    person = User.objects.create_user("vera", is_staff=True)
    assert not scrape(person)

    person.user_permissions.add(Permission.objects.get(codename="view_system"))

    assert scrape(User.objects.get(pk=person.pk))
