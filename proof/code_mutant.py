"""A mistake of one line in Python code, put into functions that are there already, wherever they are referred to."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any


@dataclass(frozen=True, slots=True)
class CodeMutant:
    """One mistake.

    Args:
        name: what is wrong with it, in words.
        module: where it is made.
        right: the text of the source, which is there once.
        wrong: what stands in its place.
        equivalent: why nobody could tell it from the right one; such a mutant is not run.
        theme: what histories are about that meet it soon; '' for any.
    """

    name: str
    module: str
    right: str
    wrong: str
    equivalent: str = ""
    theme: str = ""

    def changes(self) -> list[tuple[CodeType, CodeType]]:
        """The code of each function that differs, as it is and as it would be.

        Raises:
            LookupError: the module does not have the text once, or has it in no function.
        """
        module = import_module(self.module)
        source, path = inspect.getsource(module), str(module.__file__)
        if source.count(self.right) != 1:
            raise LookupError(f"{self.module} has {source.count(self.right)} times the text of {self.name!r}")
        real = _real(source, path)
        found = dict(_codes(compile(source.replace(self.right, self.wrong), path, "exec")))
        changed = [(code, found[place]) for place, code in real.items() if place in found and found[place] != code]
        if not changed:
            raise LookupError(f"no function of {self.module} has the text of {self.name!r}")
        return changed

    @contextmanager
    def made(self) -> Iterator[None]:
        """Inside, the mistake is made."""
        wrong = dict(self.changes())
        gc.unfreeze()  # what is frozen is not listed
        functions = [
            # Not isinstance(), which asks what a weak proxy stands for.
            (one, one.__code__)
            for one in gc.get_objects()
            if type(one) is FunctionType and one.__code__ in wrong
        ]
        if not functions:
            raise LookupError(f"no function runs what {self.name!r} changes")
        try:
            for function, code in functions:
                function.__code__ = wrong[code]
            yield
        finally:
            for function, code in functions:
                function.__code__ = code


@dataclass(frozen=True, slots=True)
class ValueMutant:
    """A wrong value in the place of a right one.

    Args:
        name: what is wrong with it, in words.
        module: where the owner is.
        owner: the module's member that has it, such as ``Transition.CANCEL``; '' for the module itself.
        attribute: its name.
        wrong: the value.
        equivalent: why nobody could tell it from the right one; such a mutant is not run.
        theme: what histories are about that meet it soon; '' for any.
    """

    name: str
    module: str
    owner: str
    attribute: str
    wrong: Any
    equivalent: str = ""
    theme: str = ""

    @contextmanager
    def made(self) -> Iterator[None]:
        """Inside, the mistake is made."""
        owner: Any = import_module(self.module)
        for part in filter(None, self.owner.split(".")):
            owner = getattr(owner, part)
        right = getattr(owner, self.attribute)
        if right == self.wrong:
            raise LookupError(f"{self.name!r} changes nothing")
        setattr(owner, self.attribute, self.wrong)
        try:
            yield
        finally:
            setattr(owner, self.attribute, right)


@cache
def _real(source: str, path: str) -> dict[tuple[Any, ...], CodeType]:
    return dict(_codes(compile(source, path, "exec")))


def _codes(code: CodeType, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[Any, ...], CodeType]]:
    """All functions in a piece of code, by where they are, those of one name by their order."""
    number = 0
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            number += 1
            inner = (*place, constant.co_name, str(number))
            yield inner, constant
            yield from _codes(constant, inner)
