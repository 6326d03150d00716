"""Text of strangers for a line of a log: what a receiver or a caller wrote cannot begin a line of its own."""

from __future__ import annotations


def escaped(text: str) -> str:
    """The text with everything escaped that is not printable: line ends, colours, and what turns the direction."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
