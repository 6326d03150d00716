"""What the page for errors in debug mode hides."""

from __future__ import annotations

import pytest

from delayhub.project.error_report import ErrorReportFilter

PASSWORD_URL = "postgresql://user:hunter2@db.example/hub"


@pytest.mark.parametrize(
    "name",
    ["DATABASE_URL", "BROKER_URL", "CELERY_BROKER_URL", "DELAYHUB_DATABASE_URL", "REDIS_URL", "CELERY_RESULT_BACKEND"],
)
def test_the_url_of_a_server_is_hidden(name: str) -> None:
    assert "hunter2" not in str(ErrorReportFilter().cleanse_setting(name, PASSWORD_URL))


def test_what_django_hides_is_hidden_too_and_the_rest_is_shown() -> None:
    found = ErrorReportFilter().cleanse_setting("X", {"SECRET_KEY": "hunter2", "STATIC_URL": "static/"})

    assert found["STATIC_URL"] == "static/"
    assert found["SECRET_KEY"] != "hunter2"


def test_of_the_options_only_those_are_shown_that_are_marked_open_and_of_the_environment_nothing() -> None:
    options = {"OWNER_URL": PASSWORD_URL, "LANES": ["a"], "FLUSH_SIZE": 7, "NO_OPTION": "hunter2"}

    found = ErrorReportFilter().cleanse_setting("DELAYHUB", options)

    assert (found["LANES"], found["FLUSH_SIZE"]) == (["a"], 7)
    assert "hunter2" not in str(found)
    assert "hunter2" not in str(ErrorReportFilter().cleanse_setting("DELAYHUB_OWNER_MAIL", "hunter2"))
