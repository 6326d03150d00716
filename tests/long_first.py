"""The order of tests for several processes: each begins with long ones, so that none of them is the last to run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice

import pytest

#: Tests of whole sites and of browsers take seconds each.
LONG_ROOMS = ("tests/acceptance/", "tests/browser/")
#: The fixtures of what tests of several modules share, each after the other: a site, a browser, a web server.
LASTING = ("lasting_site", "browser", "lasting_web_server")


def long_first(items: Sequence[pytest.Item], *, processes: int) -> list[pytest.Item]:
    """The tests in the order in which xdist hands them out: to each process one run of neighbours, of like lengths.

    Tests that share something for their module, or what lasts longer, stay together.
    """
    together: dict[str, list[pytest.Item]] = {}
    quick = []
    for item in items:
        if is_long(item):
            together.setdefault(shared_by(item), []).append(item)
        else:
            quick.append(item)
    shares: list[list[pytest.Item]] = [[] for _ in range(processes)]
    for group in sorted(together.values(), key=len, reverse=True):
        min(shares, key=len).extend(group)
    left = iter(quick)
    others = len(items)
    for number, share in enumerate(shares):
        size = others // (processes - number)  # what the scheduler sends to that process at the beginning
        share.extend(islice(left, max(0, size - len(share))))
        others -= len(share)
    return [*chain.from_iterable(shares), *left]


def is_long(item: pytest.Item) -> bool:
    """Whether it takes seconds, or shares with others of its module what does: each process that has one makes it."""
    by_its_mark = item.nodeid.startswith(LONG_ROOMS) or item.get_closest_marker("slow") is not None
    return by_its_mark or shared_by(item) != item.nodeid


def shared_by(item: pytest.Item) -> str:
    """What lasts over modules, or the module, where the test shares one with others; else the test itself."""
    for lasting in LASTING:
        if lasting in getattr(item, "fixturenames", ()):
            return lasting
    scopes = {defs[-1].scope for defs in item._fixtureinfo.name2fixturedefs.values()}  # type: ignore[attr-defined]  # pytest has no public way
    return item.nodeid.partition("::")[0] if "module" in scopes else item.nodeid
