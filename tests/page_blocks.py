"""The fenced blocks of the pages, and what stands above a block that cannot simply run.

A comment in front of a fence, which readers do not see, says of a block

``<!-- given: order = 42 -->``
    what its Python finds, beside what earlier blocks of its page have defined.
``<!-- not run: the reason -->``
    why no test runs it.
``<!-- run by: tests/acceptance/test_x.py -->``
    which test types it, since it is a part of something larger; the test reads the page.

Blocks marked ``text`` and ``http`` are no code: drawings, and what programs print.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tests.repository import ROOT

#: The README's blocks are those of these pages, word for word: a house rule.
PAGES = sorted((ROOT / "docs").rglob("*.md"))
NO_CODE = {"text", "http"}

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[a-z]*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- (given|not run|run by):\s((?:(?!-->).)*)-->\n\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Args:
        page: the file.
        line: the number of its first line, from 1.
        language: what the fence says; empty for commands.
        text: what stands in it, without its indentation.
        marks: what comments in front of it say, by ``given``, ``not run`` and ``run by``.
    """

    page: Path
    line: int
    language: str
    text: str
    marks: dict[str, str]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def runs(self) -> bool:
        """Whether the collector runs it."""
        return not {"not run", "run by"} & set(self.marks)


def blocks_of(page: Path) -> list[Block]:
    """Every block of a page, from the top."""
    text = page.read_text()
    return [
        Block(
            page,
            text.count("\n", 0, fence.start()) + 2,
            fence["language"],
            textwrap.dedent(fence["text"]),
            _marks_before(text[: fence.start()]),
        )
        for fence in _FENCE.finditer(text)
    ]


def _marks_before(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    while mark := _MARK.search(text):
        found[mark[1]] = mark[2].strip()
        text = text[: mark.start()]
    return found


def commands_in(block: Block) -> list[str]:
    """The commands that are typed in a block for a shell: continued lines are one, and comments are gone."""
    lines = re.sub(r" *\\\n *", " ", block.text).splitlines()
    typed = [re.sub(r"\s+#.*$", "", line).strip() for line in lines]
    if block.language == "console":
        return [line.removeprefix("$ ") for line in typed if line.startswith("$ ")]
    return [line for line in typed if line]
