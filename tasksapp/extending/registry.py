"""Registry: the extensions of one point, added by their dotted names and imported at their first use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Generic, Protocol, TypeVar, cast

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string


class Ranked(Protocol):
    """An extension."""

    @property
    def rank(self) -> int:
        """Its place among the others; the lowest comes first."""


T = TypeVar("T", bound=Ranked)


class Registry(Generic[T]):
    """Extensions of one kind.

    Args:
        kind: what they are, in the plural, for messages.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._names: list[str] = []

    def add(self, *names: str) -> None:
        """Add extensions by the dotted names of the objects; a name that was added before is not added again.

        Raises ImproperlyConfigured if they are in use already: statements were composed without the new ones.
        """
        new = [name for name in names if name not in self._names]
        if new and "all" in vars(self):
            raise ImproperlyConfigured(
                f"{self._kind} are in use already, so {', '.join(new)} cannot be added: do so in AppConfig.ready()"
            )
        self._names += new

    @cached_property
    def all(self) -> tuple[T, ...]:
        """All extensions in the order of their ranks; the same object at each call."""
        found = [cast("T", import_string(name)) for name in self._names]
        return tuple(sorted(found, key=lambda one: one.rank))

    @contextmanager
    def only(self, *names: str) -> Iterator[None]:
        """Have these extensions and no others inside the block: for tests of the core alone."""
        before = self._names
        self._names = list(names)
        vars(self).pop("all", None)
        try:
            yield
        finally:
            self._names = before
            vars(self).pop("all", None)
