"""Where a client's options come from, and what they may be."""

from __future__ import annotations

import pytest

from delayhub.client import NotConfigured
from delayhub.client.options import ClientOptions, address
from delayhub.errors import OptionError


@pytest.mark.parametrize(
    ("given", "api"),
    [
        ("https://delay.example", "https://delay.example/api/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/api/v1"),
        ("https://shop.example/timeouts/v1", "https://shop.example/timeouts/v1"),
        ("https://shop.example/timeouts/v1/", "https://shop.example/timeouts/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/api/v1"),
    ],
)
def test_the_address_of_a_site_or_of_an_api_is_enough(given: str, api: str) -> None:
    assert address(given) == api


@pytest.mark.parametrize(
    "given",
    [
        *("delay.example", "ftp://delay.example", "https://", "https://delay.example?x=1", "https://a:b@delay.example"),
        *("http://[::1", "http://delay.example:99999", "http://delay.example:0", "http://delay example"),
    ],
)
def test_another_address_is_refused(given: str) -> None:
    with pytest.raises(OptionError):
        address(given)


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELAYHUB_URL", "https://delay.example")
    monkeypatch.setenv("DELAYHUB_API_KEY", "dh_k\n")

    options = ClientOptions()

    assert options.base_url == "https://delay.example/api/v1"
    assert options.headers["Authorization"] == "Bearer dh_k"
    assert options.headers["User-Agent"].startswith("delayhub-client/")


def test_what_is_missing_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DELAYHUB_URL", raising=False)
    monkeypatch.delenv("DELAYHUB_API_KEY", raising=False)

    with pytest.raises(NotConfigured, match="DELAYHUB_URL"):
        ClientOptions(api_key="k")
    with pytest.raises(NotConfigured, match="DELAYHUB_API_KEY"):
        ClientOptions("https://delay.example")


@pytest.mark.parametrize(
    "wrong",
    [{"timeout_seconds": 0}, {"connections": 0}, {"retries": -1}, {"most_wait_seconds": -1}, {"api_key": "a\nb"}],
)
def test_options_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    given = {"api_key": "k", **wrong}

    with pytest.raises(OptionError, match=next(iter(wrong))):
        ClientOptions("https://delay.example", **given)  # type: ignore[arg-type]  # on purpose


def test_the_key_is_not_shown() -> None:
    assert "s3cret" not in repr(ClientOptions("https://delay.example", api_key="s3cret"))
