"""The Celery app of the ready-made project, and its log."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from celery.bin.base import CLIContext
from celery.bin.worker import worker
from celery.signals import setup_logging

from delayhub.celery_support.control import Control
from delayhub.project.celery import app, keep_our_logging


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger; its level is put back afterwards."""
    logger = logging.getLogger()
    before = logger.level
    yield logger
    logger.setLevel(before)


def test_it_runs_on_delayhub_with_djangos_settings() -> None:
    from django.conf import settings

    assert type(app.control) is Control
    assert app.conf.broker_url == settings.BROKER_URL
    assert app.conf.task_default_queue == "delayhub.tasks"


def test_the_tasks_of_the_timeout_centre_are_registered() -> None:
    app.loader.import_default_modules()

    assert {"tasksapp.deliver", "tasksapp.run_task"} <= set(app.tasks)


def test_a_worker_keeps_our_handlers_and_takes_its_level(root: logging.Logger) -> None:
    handlers = root.handlers[:]

    answers = setup_logging.send(None, loglevel=logging.DEBUG)

    assert keep_our_logging in [receiver for receiver, _ in answers]
    assert root.level == logging.DEBUG
    assert root.handlers == handlers


@pytest.mark.parametrize(("given", "then"), [([], logging.INFO), (["--loglevel", "WARNING"], logging.WARNING)])
def test_the_level_that_celery_takes_where_none_is_given_leaves_that_of_the_settings(
    root: logging.Logger, given: list[str], then: int
) -> None:
    root.setLevel(logging.INFO)

    with worker.make_context("worker", given, obj=CLIContext(app, no_color=True, workdir=None)) as context:
        setup_logging.send(None, loglevel=context.params["loglevel"])

    assert root.level == then


def test_without_a_level_the_settings_stay(root: logging.Logger) -> None:
    root.setLevel(logging.ERROR)

    keep_our_logging(loglevel=None)

    assert root.level == logging.ERROR
