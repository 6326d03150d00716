"""The web application with the mistake in it that ``MISTAKE`` names; granian runs it in the place of the right one."""

from __future__ import annotations

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any

from proof.order.mistakes import MISTAKES


class _Finder(MetaPathFinder):
    """Finds the module that has the mistake before others do."""

    def __init__(self, name: str) -> None:
        self.mistake = MISTAKES[name]

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != self.mistake.module:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        spec.loader = _Loader(fullname, str(spec.origin), self.mistake.right, self.mistake.wrong)
        return spec


class _Loader(SourceFileLoader):
    """Compiles the source with the other text, and keeps nothing of it."""

    def __init__(self, fullname: str, path: str, right: str, wrong: str) -> None:
        super().__init__(fullname, path)
        self.right, self.wrong = right, wrong

    def get_code(self, fullname: str) -> Any:
        source = self.get_data(self.path).decode()
        if self.right not in source:
            raise LookupError(f"{self.path} has no {self.right!r}")
        return compile(source.replace(self.right, self.wrong), self.path, "exec")


sys.meta_path.insert(0, _Finder(os.environ["MISTAKE"]))

from delayhub.project.wsgi import application  # noqa: E402  with the mistake in it

__all__ = ["application"]
