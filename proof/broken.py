"""What a history did that no run may do."""

from __future__ import annotations

import re


class Broken(AssertionError):
    """A law did not hold; the text says which, and where."""

    @property
    def kind(self) -> str:
        """The law without names and numbers: two histories that break the same law have the same kind."""
        return re.sub(r"m?\d[\d#]*", "…", str(self)).split(":")[0]
