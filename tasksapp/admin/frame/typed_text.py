"""A text that a person typed into a form, as the exact bytes of a body."""

from __future__ import annotations


def typed_bytes(text: str, *, stored: bytes | None) -> bytes:
    """The bytes of the text, with the ends of lines of what is stored; that itself where nothing else is different.

    Browsers send CR LF for every end of a line.
    """
    raw = text.replace("\r\n", "\n").encode()
    if stored is None:
        return raw
    if raw == _without_cr(stored):
        return stored
    return raw.replace(b"\n", b"\r\n") if b"\r\n" in stored else raw


def _without_cr(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
