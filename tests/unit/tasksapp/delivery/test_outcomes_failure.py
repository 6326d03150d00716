"""Kinds of failure are keys that fit their column."""

from __future__ import annotations

from tasksapp.delivery.outcomes import Failure, http_failure
from tasksapp.models.error_class import LENGTH


def test_a_status_is_a_kind_of_its_own() -> None:
    assert http_failure(503) == "http.503"


def test_every_kind_fits_the_column() -> None:
    assert max(len(kind) for kind in Failure) <= LENGTH
