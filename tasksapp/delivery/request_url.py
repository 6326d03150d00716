"""A callback's URL as requests are made to it: the same for the form that takes it and for the sender."""

from __future__ import annotations

import re
from ipaddress import ip_address

from yarl import URL

#: A part of a host's name between two dots: letters, digits and dashes; and underscores, which private networks use.
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.IGNORECASE)
#: What a resolver may read as an address although it is not written as one: 127.1, 0x7f.1, 2130706433.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
#: A name's longest form, without its last dot.
LONGEST_HOST = 253


class BadUrl(ValueError):
    """No request can be made to this URL; the message is a sentence that says why."""


def request_url(text: str) -> URL:
    """The URL as requests are made to it. Raises BadUrl."""
    if any(ord(character) <= 0x20 or ord(character) == 0x7F for character in text):
        raise BadUrl("This is not a URL: it holds a blank or a control character.")
    try:
        url = URL(text)
    except ValueError as error:
        raise BadUrl(f"This is not a URL: {error}.") from error
    if url.scheme not in ("http", "https"):
        raise BadUrl("The URL must begin with http:// or https://.")
    if not url.raw_host:
        raise BadUrl("The URL must name a host.")
    if url.raw_user is not None or url.raw_password is not None:
        raise BadUrl("Credentials do not belong in the URL, which is shown; a biz type has fields for them.")
    if not url.port:
        raise BadUrl("This is not a URL: its port is 0.")
    _check_host(url.raw_host, as_written=text)
    return url


def _check_host(host: str, *, as_written: str) -> None:
    """Raises BadUrl where that host, in DNS' own letters, is neither an address nor a name."""
    if is_address(host):
        if host.lower() not in as_written.lower():
            raise BadUrl("Write the address of the host in plain digits, such as 192.0.2.1.")
        return
    labels = host.removesuffix(".").split(".")
    if len(host) > LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadUrl(
            f"{host!r} cannot be the name of a host: between its dots are 1 to 63 letters, digits and dashes, in all "
            f"at most {LONGEST_HOST}."
        )
    if _NUMBER.fullmatch(labels[-1]):
        raise BadUrl("Write the address of the host as four decimal numbers, such as 192.0.2.1.")


def is_address(host: str) -> bool:
    """Whether that is an IP address, without a scope."""
    try:
        return not getattr(ip_address(host), "scope_id", None)
    except ValueError:
        return False
