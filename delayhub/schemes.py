"""The schemes of DelayHub's brokers, and how kombu comes to know them: it has no entry point for transports."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

SCHEMES = {
    "delayhub": "delayhub.transport.transport:Transport",
    "delayhubs": "delayhub.transport.transport:SecureTransport",
    "delayhub-sentinel": "delayhub.transport.transport:SentinelTransport",
    "delayhub-cluster": "delayhub.transport.cluster_transport:ClusterTransport",
    "delayhub-clusters": "delayhub.transport.cluster_transport:SecureClusterTransport",
}

#: The module of kombu that has the table of transports.
TABLE = "kombu.transport"


def register_with_kombu() -> None:
    """Makes kombu know the schemes: now, or where it is not imported yet, as soon as it is."""
    loaded = sys.modules.get(TABLE)
    if loaded is not None:
        loaded.TRANSPORT_ALIASES.update(SCHEMES)
    elif not any(isinstance(finder, RegisterOnImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, RegisterOnImport())


class RegisterOnImport(MetaPathFinder):
    """Waits for the import of kombu's table, adds the schemes to it and is gone.

    ``import delayhub`` must not import kombu: the engine is used without it.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """kombu's own module, whose loader also registers the schemes; None for all other modules."""
        if name != TABLE:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        loader: Any = spec.loader if spec is not None else None
        if loader is not None:
            execute = loader.exec_module

            def execute_and_register(module: Any) -> None:
                execute(module)
                module.TRANSPORT_ALIASES.update(SCHEMES)

            loader.exec_module = execute_and_register
        return spec
