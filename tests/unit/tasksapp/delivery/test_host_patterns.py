"""The hosts to which jobs may lead: what can be written, and which URLs fit."""

from __future__ import annotations

import pytest

from tasksapp.delivery.host_patterns import host_patterns, may_lead_to
from tasksapp.delivery.request_url import BadUrl, request_url


@pytest.mark.parametrize(
    ("hosts", "url"),
    [
        ("hooks.example.com", "https://hooks.example.com/a?b=c"),
        ("hooks.example.com", "http://HOOKS.example.com./a"),
        # the port of the scheme, written out
        ("hooks.example.com", "https://hooks.example.com:443/"),
        ("hooks.example.com:8443", "https://hooks.example.com:8443/"),
        ("Hooks.Example.com", "https://hooks.example.com/"),
        # any depth below it
        ("*.example.com", "https://a.b.example.com/"),
        ("other.example, 192.0.2.7:80", "http://192.0.2.7/"),
        # as DNS writes it
        ("xn--bcher-kva.example", "https://bücher.example/"),
    ],
)
def test_a_url_fits_the_host_that_is_named(hosts: str, url: str) -> None:
    assert may_lead_to(request_url(url), hosts=hosts)


@pytest.mark.parametrize(
    ("hosts", "url"),
    [
        # none is named
        ("", "https://hooks.example.com/"),
        ("hooks.example.com", "https://evil-hooks.example.com/"),
        ("hooks.example.com", "https://hooks.example.com.evil.example/"),
        ("hooks.example.com", "https://hooks.example.com:8443/"),
        # http at the port of https
        ("hooks.example.com", "http://hooks.example.com:443/"),
        ("hooks.example.com:8443", "https://hooks.example.com/"),
        # not the host itself, nor one whose name only ends alike
        ("*.example.com", "https://example.com/"),
        ("*.example.com", "https://evilexample.com/"),
        # an unreadable list lets nothing through
        ("hooks.example.com, *", "https://hooks.example.com/"),
    ],
)
def test_no_other_url_fits(hosts: str, url: str) -> None:
    assert not may_lead_to(request_url(url), hosts=hosts)


@pytest.mark.parametrize(
    "hosts",
    [
        "*",
        "*.*.example.com",
        "hooks.*.com",
        "https://hooks.example.com",
        "hooks.example.com/path",
        "user@hooks.example.com",
        "hooks.example.com:0",
        "hooks.example.com:99999",
        "hooks.example.com:",
        "*.192.0.2.7",
        "127.1",
        "[2001:db8::1]",
        "a b",
        "h.example," * 51,
    ],
)
def test_what_is_no_host_is_refused(hosts: str) -> None:
    with pytest.raises(BadUrl):
        host_patterns(hosts)
