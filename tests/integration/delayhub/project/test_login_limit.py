"""Those who guess passwords wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from delayhub.project.login_limit import ADDRESS_FAILURES, USER_FAILURES, WINDOW_SECONDS, LoginLimit, login_limit
from delayhub.testing import MovableClock

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nobody_failed(django_user_model: Any) -> Iterator[None]:
    django_user_model.objects.create_superuser("ada", password="analytical")
    login_limit.forget()
    yield
    login_limit.forget()


def log_in(client: Client, password: str, *, user: str = "ada", **headers: str) -> tuple[bool, str]:
    """Whether it succeeded, and the page that came."""
    answer = client.post("/admin/login/?next=/admin/", {"username": user, "password": password}, **headers)  # type: ignore[arg-type]  # the client takes members of the environment
    return answer.status_code == 302, answer.content.decode()


def test_after_five_failures_the_right_password_has_to_wait_too_and_the_page_says_so(client: Client) -> None:
    for _ in range(USER_FAILURES):
        assert "Too many" not in log_in(client, "guess")[1]

    succeeded, page = log_in(client, "analytical", user="ADA")

    assert not succeeded
    assert "Too many failed logins. Try again in 5 min." in page
    assert log_in(client, "analytical", REMOTE_ADDR="10.0.0.2")[0], "another address is another person"


def test_a_success_forgets_the_failures_before_it(client: Client) -> None:
    for _ in range(3):
        for _ in range(USER_FAILURES - 1):
            log_in(client, "guess")

        assert log_in(client, "analytical")[0]


def test_the_address_before_a_trusted_proxy_counts_and_only_then(client: Client, settings: Any) -> None:
    for trusted, waits in ((False, True), (True, False)):
        settings.TRUST_PROXY = trusted
        login_limit.forget()
        for number in range(USER_FAILURES):
            log_in(client, "guess", HTTP_X_FORWARDED_FOR=f"203.0.113.9, 10.0.0.{number}")

        assert ("Too many" in log_in(client, "guess", HTTP_X_FORWARDED_FOR="10.0.0.9")[1]) is waits


def test_all_addresses_of_one_network_are_one_client(client: Client) -> None:
    for number in range(USER_FAILURES):
        log_in(client, "guess", REMOTE_ADDR=f"2001:db8:1:2::{number}")

    assert "Too many" in log_in(client, "guess", REMOTE_ADDR="2001:db8:1:2::ffff")[1]
    assert "Too many" not in log_in(client, "guess", REMOTE_ADDR="2001:db8:1:3::1")[1]


def test_many_names_from_one_address_wait_too_until_the_time_is_over() -> None:
    clock = MovableClock()
    limit = LoginLimit(clock)

    for number in range(ADDRESS_FAILURES):
        assert limit.wait_seconds("ada", address="10.0.0.1") == 0
        limit.failed(f"user-{number}", address="10.0.0.1")

    assert 0 < limit.wait_seconds("ada", address="10.0.0.1") <= WINDOW_SECONDS
    clock.advance(seconds=WINDOW_SECONDS + 1)
    assert limit.wait_seconds("ada", address="10.0.0.1") == 0
