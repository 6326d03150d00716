"""The page of the proof says of long runs what is kept of them."""

from __future__ import annotations

from proof.long_runs import SORTS, runs_of, tables
from tests.repository import ROOT


def test_the_page_has_the_tables_that_are_made_of_the_kept_runs() -> None:
    assert tables() in (ROOT / "docs/explanation/proof.md").read_text()


def test_no_seed_is_counted_twice() -> None:
    for sort in SORTS:
        seeds = [seed for run in runs_of(sort) for seed in range(run["first"], run["last"] + 1)]
        assert len(seeds) == len(set(seeds)) == sum(run["histories"] for run in runs_of(sort))
