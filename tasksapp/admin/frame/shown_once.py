"""ShownOnce: a secret on its way to the only page that ever shows it."""

from __future__ import annotations


class ShownOnce(str):
    """A text that logs of templates and pages for errors do not hold: they write a value's ``repr``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<shown once>"
