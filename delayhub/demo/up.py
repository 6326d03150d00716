"""``make up``: a site that stays up until Ctrl-C."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from delayhub.client.options import API_PATH
from delayhub.demo.samples import CLOSE_ORDER
from delayhub.demo.site import ADMIN_NAME, Site, SiteOptions, require_free
from delayhub.errors import PortTaken

USUAL_PORT = 8000
LOOK_SECONDS = 0.5


def run(options: SiteOptions) -> int:
    """Starts the site, prints how to reach it, and returns 0 when a Ctrl-C ends it.

    Raises:
        DelayHubError: what :class:`Site` raises when a service does not start, or ends later.
    """
    console = Console(highlight=False)
    if options.web_port is None and is_free(USUAL_PORT):
        options = replace(options, web_port=USUAL_PORT)
    console.print("starting Redis, web server, worker and receiver …")
    try:
        with Site(options) as site:
            console.print(welcome(site), soft_wrap=True, markup=False)
            for name in site.ignored_variables:
                console.print(f"{name} is not used: this site has a Redis of its own", soft_wrap=True)
            # Into a pipe, Python would write the text only when its buffer is full.
            sys.stdout.flush()
            stay(site, console)
    except KeyboardInterrupt:
        console.print("stopped")
    return 0


def stay(site: Site, console: Console) -> None:
    """Start services again that end; never return.

    Raises:
        ServiceDied: Redis ended, or a service soon after its start.
        KeyboardInterrupt: Ctrl-C.
    """
    while True:
        # Not an Event's wait: a second Ctrl-C inside its lock would print a traceback.
        time.sleep(LOOK_SECONDS)
        for name in site.keep_running():
            console.print(f"the {name} ended and was started again; its log says why", soft_wrap=True)
            sys.stdout.flush()


def welcome(site: Site) -> str:
    """The text that says how to reach the site."""
    return f"""
DelayHub is up.

  admin      {site.url}/admin/   user {ADMIN_NAME}, password {site.admin_password}
  API docs   {site.url}/api/docs/
  Redis      {site.redis.url}
  receiver   {site.receiver_url}   logs each callback to {site.folder.received}
  logs       {site.folder.logs}

A job that fires in ten seconds:

  export DELAYHUB_URL={site.url} DELAYHUB_API_KEY={site.api_key}
  curl "$DELAYHUB_URL{API_PATH}/jobs" \\
    -H "Authorization: Bearer $DELAYHUB_API_KEY" -H "Content-Type: application/json" \\
    -d '{{"biz_type": "{CLOSE_ORDER.code}", "biz_id": "order-42", "delay": 10, "body": {{"order": 42}}}}'

or, with {Path(sys.executable).parent} in PATH:

  delayhub jobs create {CLOSE_ORDER.code} --biz-id order-42 --delay 10s

Ctrl-C stops everything.
"""


def is_free(port: int) -> bool:
    """Whether nothing listens on that port of 127.0.0.1."""
    try:
        require_free(port)
    except PortTaken:
        return False
    return True
