"""Sites of benchmarks: each ends what it has started, also after an error.

A site's process imports this file, and has no pytest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from benchmarks.sites import Answers, Site


@contextlib.contextmanager
def site(end: str) -> Iterator[Answers]:
    try:
        yield {"double": lambda number: 2 * number}
    finally:
        Path(end).write_text("ended")


def test_a_site_answers_and_ends(tmp_path: Path) -> None:
    with Site(site, end=str(tmp_path / "one")) as one:
        assert one.ask("double", number=4) == 8

    assert (tmp_path / "one").read_text() == "ended"


def test_after_an_error_each_site_ends_what_it_has_started(tmp_path: Path) -> None:
    ends = [tmp_path / "one", tmp_path / "other"]
    with contextlib.suppress(EOFError), Site(site, end=str(ends[0])) as one, Site(site, end=str(ends[1])) as other:
        other.ask("double", number=4)
        other.begin("double", number=4)  # what comes out of it is never asked for
        one.ask("unknown")
        raise AssertionError("the site has answered what it does not know")

    assert [end.read_text() for end in ends] == ["ended", "ended"]
