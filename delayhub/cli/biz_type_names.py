"""Completes codes of biz types by asking the site."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from delayhub.cli.session import Session
from delayhub.cli.site_options import Parsed
from delayhub.client import Client
from delayhub.errors import DelayHubError

#: A person has pressed the tab key, and waits.
PATIENCE_SECONDS = 2.0


class BizTypeCode(Parsed):
    """The code of a biz type."""

    name = "biz type"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The codes that begin so; none where the site cannot be asked quickly."""
        del param
        try:
            url, key = ctx.ensure_object(Session).site_and_key()
            with Client(url, api_key=key, timeout_seconds=PATIENCE_SECONDS, retries=0) as api:
                known = api.biz_types.list()
        except DelayHubError:
            return []
        return [CompletionItem(found.code, help=found.name) for found in known if found.code.startswith(incomplete)]

    def parse(self, text: str) -> Any:
        """The code as it was given; the site knows whether there is one."""
        return text


BIZ_TYPE = BizTypeCode()
