"""What is to be done with a module as soon as somebody imports it, without importing it for that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple


def when_imported(name: str, call: Callable[[Any], object]) -> None:
    """Calls with the module: now, or where it is not imported yet, as soon as it is; once, however often it is asked.

    Args:
        name: the module's full name.
        call: gets the module, which is complete by then; packages that it is in may not be.
    """
    loaded = sys.modules.get(name)
    awaited = AwaitedImport(name, call)
    if loaded is not None:
        call(loaded)
    elif awaited not in sys.meta_path:
        sys.meta_path.insert(0, awaited)


class AwaitedImport(NamedTuple):
    """A finder that waits for the import of one module, calls with it and is gone."""

    name: str
    call: Callable[[Any], object]

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The awaited module, whose loader also makes the call; None for all other modules."""
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        loader: Any = spec.loader if spec is not None else None
        if loader is not None:
            execute = loader.exec_module

            def execute_and_call(module: Any) -> None:
                execute(module)
                self.call(module)

            loader.exec_module = execute_and_call
        return spec
