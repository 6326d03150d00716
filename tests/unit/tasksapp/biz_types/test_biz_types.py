"""What other projects may import from ``tasksapp.biz_types``."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tasksapp import biz_types
from tests.repository import ROOT, text_of

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.py"))]


def test_the_public_names_are_these() -> None:
    assert biz_types.__all__ == [
        "NewBizType", "Signing", "change", "create", "delete", "find", "make_signing_secret", "pause", "resume",
        "rotate_signing_secret", "stop_signing",
    ]  # fmt: skip


@pytest.mark.parametrize("name", biz_types.__all__)
def test_each_name_says_what_it_is_and_a_verb_what_it_raises(name: str) -> None:
    doc = inspect.getdoc(getattr(biz_types, name)) or ""

    assert doc
    assert name[0].isupper() or re.search(r"Raises\W", doc)
    assert name in dir(biz_types)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="postpone"):
        biz_types.postpone  # noqa: B018  asked for, to see it refused


def test_a_models_file_may_import_them_before_django_is_set_up() -> None:
    subprocess.run([sys.executable, "-c", "from tasksapp import biz_types; dir(biz_types)"], check=True, timeout=60)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_makes_a_biz_type_past_its_verb(page: Path) -> None:
    """A row that the model makes is neither checked nor audited, and its callbacks have no signature."""
    made = r"BizType\.objects\.a?(create|bulk_create|get_or_create|update_or_create)|\bBizType\([^)]*\)\.save\("
    assert not re.search(made, text_of(page))
