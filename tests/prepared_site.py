"""A site of several processes, filled as `make up` fills one: an admin, an API key, biz types of one receiver."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from delayhub.demo.receiver import SECRET_VARIABLE
from delayhub.webhooks.signature import new_secret


def prepare_site(environment: Mapping[str, str], *, key: str, receiver_port: int) -> None:
    """Makes tables and rows by the environment of the site's processes.

    Args:
        environment: that of the processes.
        key: the API key.
        receiver_port: where callbacks go, on this machine.
    """
    wanted = {
        "DELAYHUB_SITE_ADMIN": "admin",
        "DELAYHUB_SITE_PASSWORD": "analytical",
        "DELAYHUB_SITE_API_KEY": key,
        "DELAYHUB_SITE_RECEIVER": f"http://127.0.0.1:{receiver_port}",
        SECRET_VARIABLE: new_secret(),
    }
    command = [sys.executable, "-m", "delayhub.demo.prepare"]
    subprocess.run(command, env={**environment, **wanted}, check=True, timeout=120)
