"""The Chinese pages for beginners have the code of the English ones, which tests type, word for word and in its order.

They are docs/zh/index.md, docs/zh/install.md, docs/zh/celery.md, docs/zh/django.md and docs/zh/rest.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page_blocks import blocks_of
from tests.repository import ROOT

DOCS = ROOT / "docs"
PAGES = sorted((DOCS / "zh").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_chinese_page_has_the_blocks_of_the_english_one(page: Path) -> None:
    name = page.name
    english = DOCS / name if name == "index.md" else DOCS / "start" / name

    assert [block.text for block in blocks_of(page)] == [block.text for block in blocks_of(english)]
    assert blocks_of(page)
