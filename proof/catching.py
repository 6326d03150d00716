"""Makes each mistake of a table, and plays histories until one breaks a law: what ``make mutants`` runs."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
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


def part(text: str) -> slice:
    """What a part of a table is: ``2/8`` is each eighth mistake, from the second on.

    Raises:
        ValueError: there is no such part.
    """
    number, of = map(int, text.split("/"))
    if not 1 <= number <= of:
        raise ValueError(f"a part is such as 2/8, got {text!r}")
    return slice(number - 1, None, of)


def asked(prog: str, *, most: int, about: str | None, databases: Sequence[str] = ()) -> argparse.Namespace:
    """What the command line asks for.

    Args:
        prog: the name of the command.
        most: how many histories a mistake has, unless the command line says.
        about: what the command does.
        databases: those that it knows, the usual one first.
    """
    parser = argparse.ArgumentParser(prog=prog, description=about)
    if databases:
        parser.add_argument("--database", choices=databases, default=databases[0])
    parser.add_argument("--most", type=int, default=most, help=f"histories a mistake (default: {most})")
    parser.add_argument("--only", default="", help="those whose names have this in them")
    parser.add_argument(
        "--part", type=part, default="1/1", help="a part of them: 2/8 is each eighth, from the second on"
    )
    return parser.parse_args()


def catch_all(table: Sequence[Mistake], catch: Catch, options: argparse.Namespace) -> int:
    """0 where every mistake was caught, but those that are told why they cannot be.

    Args:
        table: the mistakes.
        catch: tries one.
        options: what the command line asks for.
    """
    wanted = [mistake for mistake in table[options.part] if options.only in mistake.name]
    survivors, began = [], time.monotonic()
    for number, mistake in enumerate(wanted, 1):
        print(f"{number}/{len(wanted)} {mistake.name}: ", end="", flush=True)
        if mistake.equivalent:
            print(f"not run, since {mistake.equivalent}")
            continue
        found = catch(mistake, options.most)
        if found is None:
            survivors.append(mistake.name)
        print(f"history {found[0]}: {found[1].broken}" if found else f"SURVIVES {options.most}", flush=True)
    print(json.dumps({"mutants": len(wanted), "survivors": survivors, "seconds": round(time.monotonic() - began, 1)}))
    return 1 if survivors else 0
