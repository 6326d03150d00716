"""The schemes of DelayHub's brokers, and how kombu comes to know them: it has no entry point for transports."""

from __future__ import annotations

from typing import Any

from delayhub.awaited_import import when_imported

SCHEMES = {
    "delayhub": "delayhub.transport.transport:Transport",
    "delayhubs": "delayhub.transport.transport:SecureTransport",
    "delayhub-sentinel": "delayhub.transport.transport:SentinelTransport",
    "delayhub-cluster": "delayhub.transport.cluster_transport:ClusterTransport",
    "delayhub-clusters": "delayhub.transport.cluster_transport:SecureClusterTransport",
}


def register_with_kombu() -> None:
    """Makes kombu know the schemes: now, or where it is not imported yet, as soon as it is.

    ``import delayhub`` must not import kombu: the engine is used without it.
    """
    when_imported("kombu.transport", _add_schemes)


def _add_schemes(table: Any) -> None:
    table.TRANSPORT_ALIASES.update(SCHEMES)
