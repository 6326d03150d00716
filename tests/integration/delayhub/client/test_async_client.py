"""The client of the API, before a server that misbehaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from django.urls import reverse

from delayhub.client.async_client import API_PATH, ApiClient, Refusal, Unreachable
from delayhub.local.redis_server import free_port

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Use = Callable[[ApiClient], Awaitable[Any]]


def ask(handler: Handler, use: Use, *, path: str = API_PATH) -> Any:
    """What ``use`` gives back with a client of a server that answers everything by ``handler``."""

    async def run() -> Any:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", handler)
        async with (
            TestServer(application) as server,
            ApiClient(str(server.make_url("")).rstrip("/"), key="k", path=path) as client,
        ):
            return await use(client)

    return asyncio.run(run())


def test_a_refusal_says_what_was_asked_and_answered() -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.json_response({"detail": "there is no biz type 'x'"}, status=400)

    with pytest.raises(Refusal, match=r"POST /jobs was answered 400: .*there is no biz type 'x'") as refusal:
        ask(refuse, lambda client: client.create({"biz_type": "x"}))

    assert refusal.value.status == 400


def test_a_bulk_of_which_one_job_was_refused_is_a_refusal() -> None:
    async def refuse_one(request: web.Request) -> web.Response:
        results = [{"id": "1"}, {"error": {"status": 429, "detail": "too many"}}]
        return web.json_response({"results": results}, status=207)

    with pytest.raises(Refusal, match="POST /jobs/bulk was answered 429: too many"):
        ask(refuse_one, lambda client: client.create_many([{}, {}]))


def test_pages_are_followed_to_the_last_one() -> None:
    async def page(request: web.Request) -> web.Response:
        second = "cursor" in request.query
        next_page = None if second else f"{request.url.origin()}/api/v1/jobs?cursor=2"
        return web.json_response({"results": [{"id": "2" if second else "1"}], "next": next_page})

    async def ids(client: ApiClient) -> list[str]:
        return [job["id"] async for job in client.newest()]

    assert ask(page, ids) == ["1", "2"]


def test_the_ready_made_project_has_its_api_where_the_client_asks() -> None:
    assert reverse("delayhub:job-list") == f"{API_PATH}/jobs"


def test_an_api_elsewhere_is_asked_there() -> None:
    async def path_of(request: web.Request) -> web.Response:
        return web.json_response({"path": request.path})

    assert ask(path_of, lambda client: client.create({}), path="/timeouts/v1") == {"path": "/timeouts/v1/jobs"}


def test_a_server_that_is_not_there_is_a_sentence() -> None:
    async def run() -> None:
        async with ApiClient(f"http://127.0.0.1:{free_port()}", key="k") as client:
            await client.cancel("42")

    with pytest.raises(Unreachable, match=r"POST http://127.0.0.1:\d+/api/v1/jobs/42/cancel: Cannot connect"):
        asyncio.run(run())


def test_the_key_is_sent_as_a_bearer() -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.json_response({"id": request.headers["Authorization"]})

    assert ask(echo, lambda client: client.create({}))["id"] == "Bearer k"
