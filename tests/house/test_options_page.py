"""docs/celery/options.md has a row for each option of kombu's Redis transport and each setting of Celery's.

A new setting of a new Celery fails here until it has a row, and a test that shows what the row says.
"""

from __future__ import annotations

import inspect
import re

import pytest
from celery.app.defaults import NAMESPACES
from kombu.transport import redis as kombu_redis

from delayhub.transport.options import KOMBU_OPTIONS, REFUSED
from tests.celery_settings import OF_CELERY_ALONE, OF_CONNECTIONS, OF_CONSUMERS, OF_MESSAGES, OF_TASKS, OF_WORKERS
from tests.celery_versions import needs_newest
from tests.repository import ROOT

pytestmark = needs_newest

PAGE = (ROOT / "docs/celery/options.md").read_text()
ROWS = re.findall(r"^\| `(\w+)` \| ([^|]+) \|.*\| `(tests/\S+\.py)::(test_\w+)` \|$", PAGE, re.MULTILINE)

SAME, ALONE, DIFFERS, REFUSAL = "as on `redis://`", "Celery's own", "differs", "refused"
#: Tests that run for each setting of a dictionary.
EACH_OF = {
    "test_messages_are_published_as_on_redis": OF_MESSAGES,
    "test_tasks_have_the_setting_as_on_redis": OF_TASKS,
    "test_connections_have_the_setting_as_on_redis": OF_CONNECTIONS,
    "test_workers_have_the_setting_as_on_redis": OF_WORKERS,
    "test_consumers_begin_as_on_redis": OF_CONSUMERS,
    "test_nothing_of_ours_reads_or_changes_a_setting_of_celery_alone": OF_CELERY_ALONE,
}


def options_of_kombu() -> set[str]:
    """Return what kombu's Redis transport reads: of its docstring, its channels, its connections, the address."""
    documented = re.findall(r"^\* ``(\w+)``", str(kombu_redis.__doc__), re.MULTILINE)
    address = re.findall(r"conninfo\.(\w+)", inspect.getsource(kombu_redis.Channel._connparams))
    return {*documented, *KOMBU_OPTIONS, *address}


def settings_of_celery() -> set[str]:
    """Return the settings of brokers, tasks and workers."""
    return {f"{space}_{name}" for space in ("broker", "task", "worker") for name in NAMESPACES[space]}


def test_each_option_and_each_setting_has_one_row() -> None:
    assert sorted(name for name, *_ in ROWS) == sorted(options_of_kombu() | settings_of_celery())


def test_each_row_is_of_a_kind_and_each_test_of_its_setting() -> None:
    wrong = [
        name
        for name, kind, _, test in ROWS
        if kind not in {SAME, ALONE, DIFFERS, REFUSAL}
        or (kind == ALONE) is not (name in OF_CELERY_ALONE)
        or name not in EACH_OF.get(test, {name})
    ]

    assert wrong == []


def test_what_is_refused_is_what_the_code_refuses() -> None:
    assert {name for name, kind, *_ in ROWS if kind == REFUSAL} == {*REFUSED, "task_protocol"}


@pytest.mark.parametrize("name", [name for name, kind, *_ in ROWS if kind == DIFFERS])
def test_a_difference_is_explained(name: str) -> None:
    [row] = re.findall(rf"^\| `{name}` \| {DIFFERS} \| (.+) \| `tests", PAGE, re.MULTILINE)

    assert len(row.split()) > 3
