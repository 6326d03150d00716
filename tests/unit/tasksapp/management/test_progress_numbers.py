"""One is said otherwise than several."""

from __future__ import annotations

import pytest

from tasksapp.management.progress import counted


@pytest.mark.parametrize(("count", "said"), [(0, "0 jobs"), (1, "1 job"), (1_200, "1,200 jobs")])
def test_a_number_has_the_word_that_fits_it(count: int, said: str) -> None:
    assert counted(count, "job", "jobs") == said
