"""What a benchmark or a chaos run may be asked, and what it finds."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Result(NamedTuple):
    """What was found.

    Args:
        figures: by their names; or by the names of runs, of each its figures.
        is_good: whether they are as they must be.
    """

    figures: Mapping[str, Any]
    is_good: bool = True

    @classmethod
    def of(cls, runs: Mapping[str, tuple[Mapping[str, Any], bool]]) -> Result:
        """That of several runs: of each its figures, and whether they are as they must be."""
        return cls({name: found for name, (found, _) in runs.items()}, all(good for _, good in runs.values()))

    def show(self, benchmark: str) -> None:
        """Prints a line for each figure, with a column for each run; then all as one JSON line."""
        has_runs = all(isinstance(found, Mapping) for found in self.figures.values())
        runs = self.figures if has_runs else {"": self.figures}
        names = dict.fromkeys(
            name for run in runs.values() for name in run if not isinstance(run[name], Mapping | list)
        )
        wide = max(map(len, names), default=0) + 2
        print(" " * wide + "".join(f"{run:>20}" for run in runs))
        for name in names:
            print(f"{name:{wide}}" + "".join(f"{run.get(name, '')!s:>20}" for run in runs.values()))
        print(json.dumps({"benchmark": benchmark, **self.figures}, ensure_ascii=False))


def judged(found: Mapping[str, Any], *, none: Sequence[str], some: Sequence[str]) -> bool:
    """Whether a chaos run is as it must be: none of what is wrong, and some of what it proves nothing without.

    Such a thing is a kill, or a task that was published. What is missing among the figures counts as none.
    """
    return not any(found.get(name) for name in none) and all(found.get(name) for name in some)


def option(name: str, default: Any = None, about: str = "", **more: Any) -> Callable[[argparse.ArgumentParser], object]:
    """What a run may be asked, as ``add_argument`` has it; numbers are of their default's type."""
    one = default[0] if isinstance(default, list) and default else default
    if isinstance(one, int | float):
        more.setdefault("type", type(one))
    if default is not None:
        about, more["default"] = f"{about} (default: %(default)s)".lstrip(), default
    more.setdefault("help", about)
    return lambda parser: parser.add_argument(name, **more)
