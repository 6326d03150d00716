"""Which tests run on which database."""

from __future__ import annotations

import re

from tests.repository import ROOT

[SQLITE_ONLY] = re.findall(r"^SQLITE_ONLY := (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


def test_rooms_that_are_left_out_on_postgresql_hold_no_test_that_should_run_there() -> None:
    rooms = set(SQLITE_ONLY.split()) - {"browser"}
    asking = [
        str(path.relative_to(ROOT))
        for room in rooms
        for path in (ROOT / "tests" / room).rglob("*.py")
        if re.search(r"mark\.django_db|mark\.database|\b(transactional_db|live_server|db): ", path.read_text())
    ]

    assert len(rooms) == 4
    assert asking == []
