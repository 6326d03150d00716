"""``delayhub mcp``: a server by which agents use a site."""

from __future__ import annotations

import ipaddress
import logging
import sys
from uuid import uuid4

import anyio
import click

from delayhub.cli.session import Session
from delayhub.cli.site_options import SiteCommand
from delayhub.client import AsyncClient
from delayhub.extras import require


@click.command(name="mcp", cls=SiteCommand)
@click.option("--http", "address", metavar="HOST:PORT", help="Serve over HTTP there; each request brings its own key.")
@click.option(
    "--allowed-host", "hosts", multiple=True, envvar="DELAYHUB_ALLOWED_HOSTS", metavar="NAME",
    help="A name that requests over HTTP may have for this server; several times. Needed beyond this machine.",
)  # fmt: skip
@click.pass_obj
def mcp_command(session: Session, address: str | None, hosts: tuple[str, ...]) -> None:
    """Let agents use a site by the Model Context Protocol, as far as an API key allows.

    Without --http it speaks over standard input and output, with the key of DELAYHUB_API_KEY or of a profile. Notes and
    errors go to the standard error.
    """
    require("mcp")
    if session.transport is not None:
        raise click.UsageError("--all is for commands that only read.")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    if address is None:
        url, key = session.site_and_key()
        anyio.run(_over_stdio, url, key)
        return
    host, port = _host_and_port(address)
    from delayhub.agents import http  # noqa: PLC0415  it takes 1.5 s, and the extra

    names = [name.strip() for each in hosts for name in each.split(",") if name.strip()]
    if not names and not _is_loopback(host):
        raise click.UsageError("Give the names of this server by --allowed-host: else any page can ask it.")
    session.out.note(f"Serving http://{address}{http.PATH} for {session.site()}")
    http.serve(session.site(), host=host, port=port, hosts=names or http.LOOPBACK)


async def _over_stdio(url: str, key: str) -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415  as above

    from delayhub.agents.server import Caller, server  # noqa: PLC0415  as above

    async with AsyncClient(url, api_key=key) as client:

        async def caller_of(context: object) -> Caller:
            del context
            return await Caller.of(client)

        made = server(caller_of, session=uuid4().hex)
        async with stdio_server() as (read, write):
            await made.run(read, write, made.create_initialization_options())


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise click.UsageError(f"--http takes HOST:PORT, such as 127.0.0.1:8765, got {address!r}.")
    return host.strip("[]"), int(port)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
