"""Numbers of things in what commands say."""

from __future__ import annotations


def counted(count: int, one: str, many: str) -> str:
    """``1 job``, or ``1,200 jobs``: the number, and the word for it."""
    return f"{count:,} {one if count == 1 else many}"
