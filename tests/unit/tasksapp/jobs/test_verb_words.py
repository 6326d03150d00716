"""The words for verbs."""

from __future__ import annotations

import pytest

from tasksapp.access.permissions import VERBS
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.verb_words import VERB_WORDS, title_of, with_count
from tasksapp.models import Operation


def test_every_verb_of_an_operation_has_words_and_a_permission() -> None:
    assert set(VERB_WORDS) == set(Operation.VerbName.values)
    assert set(VERB_WORDS) <= set(VERBS)


@pytest.mark.parametrize("verb", Operation.VerbName.values)
def test_titles_and_buttons_say_what_is_meant(verb: str) -> None:
    assert "order.close" in title_of(verb, JobFilter(biz_type="order.close"))
    assert verb == "backfill" or "all biz types" in title_of(verb, JobFilter())  # a backfill is of one series
    assert "1 job" in with_count(VERB_WORDS[verb].button, 1)
    assert "44,667 jobs" in with_count(VERB_WORDS[verb].button, 44_667)
