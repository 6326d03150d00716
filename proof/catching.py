"""Makes each mistake of a table, and plays histories until one breaks a law: what ``make mutants`` runs."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from proof.plan import Failure


class Mistake(Protocol):
    """An entry of a table."""

    @property
    def name(self) -> str: ...

    @property
    def equivalent(self) -> str: ...


#: Plays so many histories with the mistake at most: which of them broke a law, and how; None where all kept them.
Catch = Callable[[Any, int], tuple[int, Failure[Any]] | None]


def catch_all(table: Iterable[Mistake], catch: Catch, *, prog: str, most: int, about: str | None) -> int:
    """0 where every mistake was caught, but those that are told why they cannot be.

    Args:
        table: the mistakes.
        catch: tries one.
        prog: the name of the command.
        most: how many histories a mistake has, unless the command line says.
        about: what the command does.
    """
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--most", type=int, default=most, help=f"histories a mistake (default: {most})")
    parser.add_argument("--only", default="", help="those whose names have this in them")
    options = parser.parse_args()
    survivors, began, tried = [], time.monotonic(), 0
    for mistake in table:
        if options.only not in mistake.name:
            continue
        tried += 1
        if mistake.equivalent:
            print(f"{mistake.name}: not run, since {mistake.equivalent}")
            continue
        found = catch(mistake, options.most)
        if found is None:
            survivors.append(mistake.name)
        print(f"{mistake.name}: {f'history {found[0]}: {found[1].broken}' if found else 'SURVIVES'}", flush=True)
    print(json.dumps({"mutants": tried, "survivors": survivors, "seconds": round(time.monotonic() - began, 1)}))
    return 1 if survivors else 0
