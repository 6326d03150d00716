"""Progress of a command: a bar on a terminal, nothing in a log; and numbers of things in what it says."""

from __future__ import annotations

from django.core.management.base import OutputWrapper

WIDTH = 30


class Progress:
    """A bar that fills up.

    Args:
        out: where it is drawn, if that is a terminal.
        total: how much there is to do.
        what: what is counted, such as "jobs".
    """

    def __init__(self, out: OutputWrapper, *, total: int, what: str) -> None:
        self._out = out
        self._total = total
        self._what = what
        self.done = 0

    def advance(self, count: int) -> None:
        """Counts so many more as done."""
        self.done += count
        if self._out.isatty():
            # There may be more by now than were counted at the beginning.
            share = min(self.done / self._total, 1.0) if self._total else 1.0
            bar = "█" * round(share * WIDTH)
            self._out.write(f"\r{bar:░<{WIDTH}} {share:4.0%} {self.done:,} {self._what}", ending="")
            self._out.flush()

    def end(self) -> None:
        """Ends the line."""
        if self._out.isatty():
            self._out.write("")


def counted(count: int, one: str, many: str) -> str:
    """``1 job``, or ``1,200 jobs``: the number, and the word for it."""
    return f"{count:,} {one if count == 1 else many}"
