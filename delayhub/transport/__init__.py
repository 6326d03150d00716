"""A kombu transport on the engine: subclasses of kombu's Redis transport whose queues are the engine's."""

from __future__ import annotations

from delayhub.transport.transport import ALIASES, SecureTransport, SentinelTransport, Transport, register

__all__ = ["ALIASES", "SecureTransport", "SentinelTransport", "Transport", "register"]
