"""What a person reads on a page."""

from __future__ import annotations

import re


def words_of(html: bytes | str) -> str:
    """The page without its tags, with single spaces; ``&lt;`` and the like stay as they are written."""
    text = html.decode() if isinstance(html, bytes) else html
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())
