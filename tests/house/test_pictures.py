"""The pictures of docs/images are of these pages, drawn from this code, small, and each is shown somewhere."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import date, timedelta

from tests.drawings import ARROWS, IMAGES, PLACES, drawn, verbs_between
from tests.repository import ROOT

MADE = json.loads((IMAGES / "made.json").read_text())
#: What pages look like, as far as files say.
LOOKS = ("templates", "tasksapp/templates", "tasksapp/static")
#: How long pictures may be older than what they show, if the menu is the same.
MOST_OLDER = timedelta(days=90)
MOST_BYTES = 120_000


def test_drawings_are_what_the_code_draws() -> None:
    assert {name: text for name, text in drawn().items() if (IMAGES / name).read_text() != text} == {}


def test_the_drawing_of_statuses_has_each_change_of_the_table_and_no_other() -> None:
    assert set(ARROWS) == set(verbs_between())
    assert {status for pair in ARROWS for status in pair} == set(PLACES)


def test_pictures_are_small_and_ask_no_other_server() -> None:
    files = [path for path in IMAGES.iterdir() if path.name != "made.json"]

    assert len(files) >= 20
    assert [path.name for path in files if path.stat().st_size > MOST_BYTES] == []
    asking = re.compile(r"(?:href|src)=|url\((?!#)|@import")
    assert [path.name for path in files if path.suffix == ".svg" and asking.search(path.read_text())] == []


def test_each_picture_is_shown_and_each_page_picture_is_there_in_both_looks() -> None:
    pages = "".join(path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    names = {path.name for path in IMAGES.iterdir() if path.name != "made.json"}
    about = {re.sub(r"-(light|dark)\.png$", "", name) for name in names}

    assert [name for name in about if f"images/{name}" not in pages] == []
    pairs = {re.sub(r"-(light|dark)\.png$", "", name) for name in names if name.endswith(".png")}
    assert {f"{name}-{look}.png" for name in pairs for look in ("light", "dark")} <= names


def test_pictures_are_not_much_older_than_the_pages_that_they_show() -> None:
    said = subprocess.run(
        ["git", "log", "-1", "--format=%cs", "--", *LOOKS], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()

    assert date.fromisoformat(MADE["made"]) + MOST_OLDER >= date.fromisoformat(said), "make pictures"
