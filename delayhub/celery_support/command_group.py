"""What Celery finds by its entry point: it loads this for every ``celery …`` where the distribution is installed."""

from __future__ import annotations

from typing import Any

import click

from delayhub.extras import not_installed

try:
    from delayhub.celery_support.command import delayhub
except ModuleNotFoundError as error:
    sentence = str(not_installed(error, extra="celery"))

    @click.command(name="delayhub", context_settings={"ignore_unknown_options": True})
    @click.argument("arguments", nargs=-1)
    def unusable(**_arguments: Any) -> None:
        """Look at what waits in Redis: a package is missing."""
        raise click.ClickException(sentence)

    group: click.Command = unusable
else:
    group = delayhub
