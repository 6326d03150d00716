"""A mistake of one line, put into the scripts by its text."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TextMutant:
    """One mistake in a text, wherever that is put in.

    Args:
        name: what is wrong with it, in words.
        right: the text, as the source or the statement has it.
        wrong: what stands in its place.
        equivalent: why no run could tell it from the right one; such a mutant is not run.
        theme: what histories are about that meet it soon; '' for any.
    """

    name: str
    right: str
    wrong: str
    equivalent: str = ""
    theme: str = ""


@dataclass(frozen=True, slots=True)
class Mutant(TextMutant):
    """One mistake in the scripts; at least one of them has the right text."""

    #: The scripts that were built with it.
    changed: list[str] = field(default_factory=list, compare=False, repr=False)

    def change(self, source: str) -> str:
        """The source with the mistake in it."""
        changed = source.replace(self.right, self.wrong)
        if changed != source:
            self.changed.append(changed)
        return changed
