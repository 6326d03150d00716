"""One log for people and machines: a sentence, and its facts beside it."""

from __future__ import annotations

import json
import logging
import logging.config
from collections.abc import Iterator
from typing import Any

import pytest

from delayhub.project.logs import logging_config


@pytest.fixture(autouse=True)
def _root_as_before() -> Iterator[None]:
    """The process' own logging is as before afterwards."""
    loggers = [logging.getLogger(name) for name in (None, "django", "django.server", "django.db.backends")]
    before = [(logger.handlers[:], logger.level) for logger in loggers]
    yield
    for logger, (handlers, level) in zip(loggers, before, strict=True):
        logger.handlers[:] = handlers
        logger.setLevel(level)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What the log wrote."""
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_of_json_has_the_sentence_and_its_facts(capsys: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig(logging_config(format_name="json", level="INFO"))

    logging.getLogger("tasksapp.jobs").info("job %s was cancelled", 42, extra={"action": "cancel", "job_id": 42})

    (line,) = lines(capsys)
    assert (line["event"], line["action"], line["job_id"]) == ("job 42 was cancelled", "cancel", 42)
    assert (line["level"], line["logger"]) == ("info", "tasksapp.jobs")
    assert line["timestamp"].endswith("Z")


def test_statements_and_their_values_are_not_logged_at_any_level(capsys: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig(logging_config(format_name="json", level="DEBUG"))

    logging.getLogger("django.db.backends").debug("INSERT INTO delayhub_job VALUES (%s)", "'the body'")
    logging.getLogger("django.request").debug("asked")

    assert [line["event"] for line in lines(capsys)] == ["asked"]


def test_a_value_that_json_has_no_form_for_is_written_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig(logging_config(format_name="json", level="INFO"))

    logging.getLogger("x").info("done", extra={"codes": frozenset({404})})

    assert lines(capsys)[0]["codes"] == "frozenset({404})"


def test_an_exception_is_part_of_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig(logging_config(format_name="json", level="INFO"))

    try:
        int("many")
    except ValueError:
        logging.getLogger("x").exception("a task failed")

    (line,) = lines(capsys)
    assert "ValueError: invalid literal" in line["exception"]


def test_on_a_console_it_is_a_line_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig(logging_config(format_name="console", level="INFO"))

    logging.getLogger("x").warning("job 42 is late", extra={"job_id": 42})

    written = capsys.readouterr().err
    assert "job 42 is late" in written
    assert "job_id=42" in written
    assert "\x1b[" not in written, "no colours in a file"


@pytest.mark.parametrize("format_name", ["json", "console"])
def test_a_traceback_shows_no_values_of_variables(format_name: str, capsys: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig(logging_config(format_name=format_name, level="INFO"))

    somebody = "somebody"

    def authenticate(key: str) -> int:
        return int(key[:0])

    try:
        authenticate(f"dh-key-of-{somebody}")
    except ValueError:
        logging.getLogger("x").exception("a request failed")

    written = capsys.readouterr().err
    assert "ValueError: invalid literal" in written
    assert "authenticate" in written
    assert "dh-key-of-somebody" not in written


def test_what_a_caller_wrote_cannot_begin_a_line_on_a_console(capsys: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig(logging_config(format_name="console", level="INFO"))
    forged = "/x\n2026-01-01T00:00:00Z [info] all is well\r\x1b[2J\u2028\u202e\x85"

    def fail() -> None:
        raise ValueError(forged)

    try:
        fail()
    except ValueError:
        logging.getLogger("django.request").exception("Internal Server Error: %s", forged, extra={"path": forged})

    written = capsys.readouterr().err
    begin = [line for line in written.splitlines() if not line.startswith("    ")]
    assert len(begin) == 1
    assert "Internal Server Error: /x\\n2026" in begin[0]
    assert written.replace("\n", "").isprintable()


def test_what_is_below_the_level_is_not_written_and_djangos_is_written_once(capsys: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig(logging_config(format_name="json", level="WARNING"))

    logging.getLogger("x").info("too quiet")
    logging.getLogger("django.request").error("not found")
    logging.getLogger("django.server").error("not served")

    assert [line["event"] for line in lines(capsys)] == ["not found", "not served"]
