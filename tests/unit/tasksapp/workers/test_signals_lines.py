"""Celery's lines about claims of timers are left out; all others stay."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from celery.app.trace import LOG_RECEIVED, LOG_SUCCESS

from tasksapp.workers.signals import LOGGERS, WithoutDeliveries, leave_out_deliveries


@pytest.fixture(autouse=True)
def _filters() -> Iterator[None]:
    before = {name: list(logging.getLogger(name).filters) for name in LOGGERS}
    leave_out_deliveries()
    leave_out_deliveries()
    yield
    for name, filters in before.items():
        logging.getLogger(name).filters = filters


def log(name: str, text: str, *, task: str, level: int = logging.INFO) -> None:
    """Logs as Celery does."""
    context = {"id": "1", "name": task, "return_value": None, "runtime": 0.1, "args": "", "kwargs": "", "eta": None}
    logging.getLogger(name).log(level, text, context, extra={"data": context})


@pytest.mark.parametrize(("name", "text"), list(zip(LOGGERS, [LOG_RECEIVED, LOG_SUCCESS], strict=True)))
def test_only_information_about_deliveries_is_left_out(name: str, text: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger=name)

    log(name, text, task="tasksapp.deliver")
    log(name, text, task="shop.close")
    log(name, text, task="tasksapp.deliver", level=logging.WARNING)

    assert ["shop.close" in caplog.messages[0], "tasksapp.deliver" in caplog.messages[1]] == [True, True]
    assert len(caplog.messages) == 2


def test_with_debugging_on_they_are_there(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger=LOGGERS[0])

    log(LOGGERS[0], LOG_RECEIVED, task="tasksapp.deliver")

    assert len(caplog.messages) == 1


def test_a_second_call_adds_nothing() -> None:
    filters = [one for one in logging.getLogger(LOGGERS[0]).filters if isinstance(one, WithoutDeliveries)]

    assert len(filters) == 1
