"""Which URLs requests can be made to: judged once, for the form and the sender alike."""

from __future__ import annotations

import pytest

from tasksapp.delivery.request_url import BadUrl, is_address, request_url


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://shop.example/hooks?a=b", "shop.example"),
        ("http://shop:8080/", "shop"),
        ("http://shop_1.internal./", "shop_1.internal."),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("http://8.8.8.8/", "8.8.8.8"),
        ("http://[2606:4700:4700::1111]/", "2606:4700:4700::1111"),
        (f"http://{'a' * 63}.example/", f"{'a' * 63}.example"),
        ("http://4u.example/", "4u.example"),
    ],
)
def test_a_url_is_one_that_requests_can_be_made_to(url: str, host: str) -> None:
    assert request_url(url).raw_host == host


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("ftp://shop.example/", "must begin with http"),
        ("/hooks", "must begin with http"),
        ("https:///hooks", "must name a host"),
        ("https://user:secret@shop.example/", "Credentials do not belong"),
        ("https://shop.example:0/", "its port is 0"),
        ("https://shop.example:99999/", "not a URL"),
        ("https://shop.example/a b", "a blank or a control character"),
        ("https://shop.example/\r\nHost: other", "a blank or a control character"),
        ("https://[::1", "not a URL"),
        # names that DNS cannot have
        ("http://a..b/", "cannot be the name of a host"),
        ("http://./", "cannot be the name of a host"),
        (f"http://{'a' * 64}.example/", "cannot be the name of a host"),
        (f"http://{'a.' * 130}example/", "cannot be the name of a host"),
        ("http://a%00b/", "cannot be the name of a host"),
        ("http://-a.example/", "cannot be the name of a host"),
        ("http://*.example/", "cannot be the name of a host"),
        ("http://[fe80::1%25eth0]/", "cannot be the name of a host"),
        # addresses that only a resolver reads as such
        ("http://127.1/", "four decimal numbers"),
        ("http://0x7f.1/", "four decimal numbers"),
        ("http://2130706433/", "four decimal numbers"),
        ("http://\uff11.\uff11.\uff11.\uff11/", "plain digits"),
    ],
)
def test_what_no_request_can_be_made_to_says_why(url: str, sentence: str) -> None:
    with pytest.raises(BadUrl, match=sentence):
        request_url(url)


@pytest.mark.parametrize(("host", "expected"), [("10.0.0.1", True), ("::1", True), ("fe80::1%1", False), ("a", False)])
def test_an_address_is_told_from_a_name(host: str, *, expected: bool) -> None:
    assert is_address(host) == expected
