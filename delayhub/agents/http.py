"""The server over HTTP: each request has the API key of its caller, and the site says whether there is such a key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil
from typing import Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from delayhub.agents.server import Caller, server
from delayhub.client import ApiError, AsyncClient, RateLimited, Unauthorized
from delayhub.errors import OptionError

#: Where it is served.
PATH = "/mcp"
#: What such a server may be called where it listens to this machine only.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_CALLER = "delayhub.caller"
#: The longest pause that the site may ask for before a request is sent again. No client is to keep this server waiting.
_MOST_WAIT_SECONDS = 2.0


def serve(url: str, *, host: str, port: int, hosts: Sequence[str]) -> None:
    """Serves until the process is told to end.

    Args:
        url: the address of the site.
        host: where it listens.
        port: the same.
        hosts: the names that requests may give it.
    """
    uvicorn.run(app(url, hosts=hosts), host=host, port=port, log_config=None, access_log=False, server_header=False)


def app(url: str, *, hosts: Sequence[str]) -> BearerCheck:
    """The ASGI application. Raises OptionError where a name of the server is a pattern."""
    if any("*" in name or name.startswith(".") for name in hosts):
        raise OptionError(f"each host must be one name, such as mcp.example, got {', '.join(hosts)}")
    allowed = TransportSecuritySettings(
        allowed_hosts=[name + port for name in hosts for port in ("", ":*")],
        allowed_origins=[f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in hosts
                         for port in ("", ":*")],
    )  # fmt: skip

    async def caller_of(context: Any) -> Caller:
        caller: Caller = context.request.scope[_CALLER]
        return caller

    # Each request stands for itself, so that several processes can serve, and no session outlives its key.
    inner = server(caller_of).streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, json_response=True, transport_security=allowed
    )
    return BearerCheck(inner, url=url)


class BearerCheck:
    """Lets requests through that have the key of a caller. It names no authorization server: there is none.

    Args:
        inner: the application behind it.
        url: the address of the site that knows the keys.
    """

    def __init__(self, inner: Any, *, url: str) -> None:
        self._inner = inner
        self._url = url

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answers a request, or has it answered."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = dict(scope["headers"])
        scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            await _answer(send, 401, "Send an API key of the site as `Authorization: Bearer dh_…`.")
            return
        if scope["method"] != "POST":
            # Without sessions a stream has nothing to say, and would stay open for longer than its key holds.
            await _answer(send, 405, "Calls are sent by POST; there are no streams.")
            return
        try:
            client = AsyncClient(self._url, api_key=key.strip(), most_wait_seconds=_MOST_WAIT_SECONDS)
        except OptionError as error:
            await _answer(send, 401, str(error))
            return
        async with client:
            try:
                caller = await Caller.of(client)
            except (Unauthorized, RateLimited) as error:
                is_unknown = isinstance(error, Unauthorized) or error.code == "too_many_wrong_keys"
                await _answer(send, 401 if is_unknown else 429, error.detail, retry_after=error.retry_after)
                return
            except ApiError as error:
                await _answer(send, 503, str(error))
                return
            await self._inner({**scope, _CALLER: caller}, receive, send)


async def _answer(send: Any, status: int, detail: str, *, retry_after: float | None = None) -> None:
    body = json.dumps({"status": status, "detail": detail}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="delayhub"'))
    if status == 405:
        headers.append((b"allow", b"POST"))
    if retry_after is not None:
        headers.append((b"retry-after", str(ceil(retry_after)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
