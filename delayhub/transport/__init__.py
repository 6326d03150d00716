"""A kombu transport on the engine: subclasses of kombu's Redis transport whose queues are the engine's."""

from __future__ import annotations

from delayhub.schemes import register_with_kombu as register
from delayhub.transport.transport import SecureTransport, SentinelTransport, Transport

__all__ = ["SecureTransport", "SentinelTransport", "Transport", "register"]
