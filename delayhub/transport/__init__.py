"""A kombu transport on the engine: subclasses of kombu's Redis transport whose queues are the engine's."""

from __future__ import annotations

from delayhub.extras import check_version, require
from delayhub.schemes import register_with_kombu as register

# kombu loads this for delayhub://, perhaps beside packages that were installed without the extra.
require("celery")

import kombu  # noqa: E402  after the line above
import redis  # noqa: E402  likewise

check_version("kombu", kombu.__version__)  # type: ignore[attr-defined]  # its stubs lack it
check_version("redis", redis.__version__)

from delayhub.transport.transport import SecureTransport, SentinelTransport, Transport  # noqa: E402  likewise

__all__ = ["SecureTransport", "SentinelTransport", "Transport", "register"]
