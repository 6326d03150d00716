"""The tables of docs/run/capacity.md, reckoned from what ``make bench NAME=capacity`` has kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.repository import ROOT

KEPT = ROOT / "benchmarks" / "capacity.json"
PAGE = ROOT / "docs" / "run" / "capacity.md"
BEGIN, END = "<!-- capacity: make bench NAME=capacity OPTIONS=--keep -->", "<!-- end of capacity -->"
#: Jobs a month, millions; days that they are kept; seconds of a month.
MILLIONS, DAYS, MONTH = (10, 100, 1_000), (1, 7, 30), 30.0 * 86_400
#: An hour's worth that a site must bear, beside the mean of the month.
PEAK = 5
#: Row versions that a job leaves to vacuum: the claim's, the outcome's, the purge's; and the share that begins one.
DEAD, SHARE = 3, 0.02
#: Of memory that a vacuum needs for each dead row, about.
TID_BYTES = 6
WAYS = ("one by one", "in batches")
Found = Mapping[str, Any]


def keep(found: Found) -> None:
    """Writes the figures down, and brings the page up to date."""
    KEPT.write_text(json.dumps(found, indent=1) + "\n")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{tables(found)}\n{END}{rest.partition(END)[2]}")


def tables(found: Found) -> str:
    """All of them, as Markdown."""
    about = f"Commit {found['commit']}, at a load of {found['load']} on {found['cores']} cores."
    return "\n\n".join([about, _parts(found), _bytes(found), _needs(found), _vacuums()])


def _parts(found: Found) -> str:
    head = ["a job", *(f"{what}, {way}" for what in ("WAL bytes", "CPU µs", "commits") for way in WAYS)]
    rows = [
        [part, *(f"{found[way][part][what]:,.{digits}f}" for what, digits in _KINDS for way in WAYS)]
        for part in ("create", "deliver", "purge", "vacuum")
    ]
    rows.append(["**all**", *(f"{whole(found, way, what):,.{digits}f}" for what, digits in _KINDS for way in WAYS)])
    return _table(head, rows)


_KINDS = (("WAL", 0), ("CPU", 0), ("commits", 2))


def _bytes(found: Found) -> str:
    rows = [[f"`{name}`", f"{size:,.0f}"] for name, size in sorted(found["bytes"].items(), key=lambda one: -one[1])]
    return _table(["kept of a job", "bytes"], [*rows, ["**all**", f"{sum(found['bytes'].values()):,.0f}"]])


def _needs(found: Found) -> str:
    kept = sum(found["bytes"].values())
    rows = []
    for millions in MILLIONS:
        rate = millions * 1e6 / MONTH
        spans = [
            _span(rate * each * whole(found, way, what) for way in WAYS)
            for what, each in (("WAL", 1e-6), ("commits", 1.0), ("CPU", PEAK * 1e-6))
        ]
        # A vacuum reads all that is kept: the more that is, the rarer it comes.
        read = rate * DEAD / SHARE * kept / 1e6
        sizes = [f"{rate * 86_400 * days * kept / 1e9:,.0f}" for days in DAYS]
        rows.append([f"{millions:,} million", f"{rate:,.0f}", *spans, f"{read:,.1f}", *sizes])
    head = ["jobs a month", "a second", "WAL MB/s", "commits/s", f"cores at {PEAK} times the mean"]
    return _table([*head, "MB/s that vacuum reads", *(f"GB, kept {_days(days)}" for days in DAYS)], rows)


def _vacuums() -> str:
    rows = []
    for days in DAYS:
        dead = MILLIONS[-1] * 1e6 / 30 * days * SHARE
        rows.append([_days(days), f"{SHARE * days / DEAD * 24:,.1f}", f"{dead * TID_BYTES / 1e6:,.0f}"])
    memory = f"MB of memory for each, {MILLIONS[-1]:,} million a month"
    return _table(["kept", "hours between two vacuums", memory], rows)


def _days(days: int) -> str:
    return f"{days} day{'s' * (days > 1)}"


def whole(found: Found, way: str, what: str) -> float:
    """What all parts of a job's life take."""
    return sum(part[what] for part in found[way].values())


def _span(values: Iterable[float]) -> str:
    low, *_, high = sorted(values)
    return f"{low:,.2g} to {high:,.2g}" if high < 100 else f"{low:,.0f} to {high:,.0f}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])
