"""What is shown of a value by its mark."""

from __future__ import annotations

import pytest

from delayhub.secrecy import NOT_SHOWN, Secrecy, host_of, is_shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.example/services/T0/hush?token=hush", "https://hooks.example"),
        ("redis://user:hush@redis.example:6379/0?password=hush", "redis://redis.example:6379"),
        ("delayhub-cluster://:hush@a:7000,b:7001/0", "delayhub-cluster://a:7000,b:7001"),
        ("rediss://[2001:db8::1]:6379/0", "rediss://[2001:db8::1]:6379"),
        ("unix:///run/redis.sock", "unix://"),
        ("redis://:hu@sh@redis.example/0", "redis://redis.example"),
        # a password that is not percent-encoded: its first half looks like the host
        ("redis://:hush/hush@redis.example/0", NOT_SHOWN),
        ("redis://:hush#hush@redis.example/0", NOT_SHOWN),
        ("redis://:hush?hush@redis.example/0", NOT_SHOWN),
        ("redis://hush hush/0", NOT_SHOWN),
        ("redis://[hush/0", NOT_SHOWN),
        ("hush", NOT_SHOWN),
        ("//hush", NOT_SHOWN),
    ],
)
def test_of_a_url_only_scheme_host_and_port_are_shown(url: str, shown: str) -> None:
    assert host_of(url) == shown


@pytest.mark.parametrize(
    ("value", "secrecy", "expected"),
    [
        (7, None, True),
        (False, None, True),
        (None, Secrecy.SECRET, True),
        ("text", Secrecy.OPEN, True),
        (("text",), Secrecy.OPEN, True),
        # a text that nothing is said of is a secret
        ("text", None, False),
        ((), None, False),
        (b"text", None, False),
        ("text", Secrecy.HOST, False),
        ("text", Secrecy.SECRET, False),
    ],
)
def test_a_text_is_shown_where_it_is_marked_as_open_only(
    value: object, secrecy: Secrecy | None, expected: object
) -> None:
    assert is_shown(value, secrecy) is expected
