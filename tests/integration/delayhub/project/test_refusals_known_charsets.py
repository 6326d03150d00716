"""Charsets that are not for text are refused before Django reads the request, on a real web server."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from tests.web_server import KEY


def status_of(port: int, path: str, content_type: str) -> int:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": content_type}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("path", ["/api/v1/jobs?biz_id=%5Cud800", "/admin/login/?next=%5Cud800"])
@pytest.mark.parametrize("charset", ["utf-7", "unicode_escape", "base64", "idna", "rot13", '"utf-7"', "UTF7"])
def test_a_charset_that_is_not_for_text_is_refused(port: int, path: str, charset: str) -> None:
    assert status_of(port, path, f"application/json; charset={charset}") == 415


@pytest.mark.parametrize("content_type", ["", "application/json"])
@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf8"', "us-ascii", "ISO-8859-1", "unheard-of", ""])
def test_others_are_taken(port: int, content_type: str, charset: str) -> None:
    assert status_of(port, "/api/v1/jobs", f"{content_type}; charset={charset}") == 200
