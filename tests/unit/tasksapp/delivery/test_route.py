"""What all callbacks of a target share, and the parts of aiohttp that are used beside its front door."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import BaseConnector, Connection

from tasksapp.delivery.callback import Target
from tasksapp.delivery.route import Route


def route(url: str = "http://receiver.example/jobs?a=b%20c", **fields: Any) -> Route:
    async def make() -> Route:
        return Route(Target(biz_type="close", url=url, host="host", **fields), user_agent="DelayHub/1")

    return asyncio.run(make())


def test_the_head_is_the_request_line_and_the_headers_of_all_callbacks() -> None:
    made = route(headers=(("X-Team", "blue"),), authorization="Bearer a", method="PUT")

    line, *headers = made.head.split("\r\n")
    assert line == "PUT /jobs?a=b%20c HTTP/1.1"
    assert sorted(headers[:-1]) == [
        "Accept-Encoding: identity",
        "Accept: */*",
        "Authorization: Bearer a",
        "Content-Type: application/json",
        "Host: receiver.example",
        "User-Agent: DelayHub/1",
        "X-Team: blue",
        "delayhub-biz-type: close",
    ]
    assert headers[-1] == ""


def test_what_a_biz_type_adds_does_not_come_beside_what_is_ours() -> None:
    made = route(headers=(("content-type", "text/plain"), ("ACCEPT-ENCODING", "gzip")))

    assert made.head.lower().count("content-type:") == made.head.lower().count("accept-encoding:") == 1
    assert "identity" in made.head


@pytest.mark.parametrize("value", ["a\r\nX-Evil: b", "a\nb", "a\rb", "a\0b"])
def test_a_header_is_one_line(value: str) -> None:
    with pytest.raises(ValueError, match="line break"):
        route(headers=(("X-Team", value),))


@pytest.mark.parametrize("url", ["", "/jobs", "ftp://receiver.example/", "http://", "http://a:99999/"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(aiohttp.InvalidURL):
        route(url)


def test_a_name_of_another_script_goes_as_dns_has_it() -> None:
    assert "Host: xn--mnchen-3ya.example:8080\r\n" in route("http://münchen.example:8080/").head


def made_protocol() -> ResponseHandler:
    async def make() -> ResponseHandler:
        return ResponseHandler(asyncio.get_running_loop())

    return asyncio.run(make())


def test_aiohttp_still_has_what_connections_use() -> None:
    assert list(inspect.signature(BaseConnector.connect).parameters) == ["self", "req", "traces", "timeout"]
    assert list(inspect.signature(aiohttp.TCPConnector._create_connection).parameters)[1] == "req"
    assert {"read_until_eof", "auto_decompress", "read_bufsize"} <= inspect.signature(
        ResponseHandler.set_response_params
    ).parameters.keys()
    assert {"read", "should_close", "data_received", "set_exception"} <= set(dir(ResponseHandler))
    assert {"_buffer", "_exception", "_reading_paused"} <= vars(made_protocol()).keys() | set(dir(ResponseHandler))
    assert list(inspect.signature(aiohttp.TCPConnector._convert_hosts_to_addr_infos).parameters) == ["self", "hosts"]
    assert "_factory" in inspect.getsource(aiohttp.TCPConnector._create_direct_connection)
    assert {"protocol", "release", "close"} <= set(dir(Connection))
    assert isinstance(aiohttp.ClientRequest.connection_key, property)
