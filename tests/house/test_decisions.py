"""The page of decisions lists every record once, by its own title, and says whether it still holds."""

from __future__ import annotations

import re

from tests.repository import ROOT

FOLDER = ROOT / "docs/decisions"
RECORDS = {path.name: path.read_text().splitlines()[0].removeprefix("# ") for path in FOLDER.glob("0*.md")}
ROWS = re.findall(r"^\|[^|]*\| \[(.+)\]\((\S+\.md)\) \| (.+) \|$", (FOLDER / "README.md").read_text(), re.MULTILINE)


def test_every_record_is_listed_once_by_its_title() -> None:
    listed = sorted((name, title) for title, name, _ in ROWS)

    assert listed == sorted(RECORDS.items())


def test_a_title_begins_with_the_number_of_its_file() -> None:
    wrong = [name for name, title in RECORDS.items() if not title.startswith(f"{int(name[:4])}. ")]

    assert wrong == []


def test_every_state_is_a_known_one_and_names_records_that_exist() -> None:
    numbers = {int(name[:4]) for name in RECORDS}

    unknown = [
        (name, state)
        for _, name, state in ROWS
        if state not in {"holds", "gone"}
        and not (
            re.fullmatch(r"changed by \d+(, \d+)*", state)
            and {int(number) for number in re.findall(r"\d+", state)} <= numbers - {int(name[:4])}
        )
    ]

    assert unknown == []
