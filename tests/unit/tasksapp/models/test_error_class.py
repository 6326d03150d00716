"""Error classes: a closed list, and two families; each has words for people."""

from __future__ import annotations

import pytest

from tasksapp.delivery.outcomes import Failure
from tasksapp.models import Job
from tasksapp.models.error_class import ERROR_CLASSES, LENGTH, error_class_label, task_error_class


@pytest.mark.parametrize(
    ("error_class", "words"),
    [
        ("http.503", "HTTP 503"),
        ("task.ValueError", "task raised ValueError"),
        ("refused", "connection refused"),
        ("max_age", "longest age used up"),
        # a job of the release after
        ("brand_new", "brand_new"),
    ],
)
def test_an_error_class_has_words(error_class: str, words: str) -> None:
    assert error_class_label(error_class) == words


def test_all_kinds_that_callbacks_have_are_on_the_list_with_words_of_their_own() -> None:
    assert set(Failure) <= set(ERROR_CLASSES)
    assert len({error_class_label(key) for key in ERROR_CLASSES}) == len(ERROR_CLASSES)


def test_a_key_fits_its_column() -> None:
    assert Job._meta.get_field("error_class").max_length == LENGTH
    assert task_error_class("Broken\x00" + "x" * 99) == "task.Broken" + "x" * 29
