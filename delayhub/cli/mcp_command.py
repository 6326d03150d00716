"""``delayhub mcp``: a server by which agents use a site."""

from __future__ import annotations

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
@click.pass_obj
def mcp_command(session: Session) -> None:
    """Let agents use a site by the Model Context Protocol, as far as an API key allows.

    It speaks over standard input and output, with the key of DELAYHUB_API_KEY or of a profile. Notes and errors go to
    the standard error.
    """
    require("mcp")
    if session.transport is not None:
        raise click.UsageError("--all is for commands that only read.")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    url, key = session.site_and_key()
    anyio.run(_serve, url, key)


async def _serve(url: str, key: str) -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415  it takes 1.5 s, and the extra

    from delayhub.agents.server import server  # noqa: PLC0415  as above

    async with AsyncClient(url, api_key=key) as client:
        made = server(client, session=uuid4().hex)
        async with stdio_server() as (read, write):
            await made.run(read, write, made.create_initialization_options())
