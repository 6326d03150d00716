"""Which bytes people can read: those of a body that is no JSON are shown as a text, or in base64."""

from __future__ import annotations


def text_of(raw: bytes) -> str | None:
    """The bytes as a text; None where they are not UTF-8, or hold a NUL, which few programs take in a text."""
    try:
        return None if b"\0" in raw else raw.decode()
    except UnicodeDecodeError:
        return None
