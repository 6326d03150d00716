"""Which tests ``make quick`` runs for a file that was changed."""

from __future__ import annotations

import pytest

from tests.quick import chosen_for, verbs_with
from tests.repository import ROOT, python_files


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        # the tests of its name, of both mirrors
        ("delayhub/engine/fitness.py", "tests/unit/delayhub/engine/test_fitness.py"),
        ("delayhub/engine/fitness.py", "tests/integration/delayhub/engine/test_fitness.py"),
        # and of each aspect that has a file of its own
        ("tasksapp/jobs/creation.py", "tests/integration/tasksapp/jobs/test_creation_tenants.py"),
        # a module without a test of its name
        ("delayhub/cli/pull_command.py", "tests/acceptance/test_pull.py"),
        # a verb in Lua, and a part of several
        ("delayhub/engine/lua/claim_timers.lua", "tests/integration/delayhub/engine/test_timer_lane.py"),
        ("delayhub/engine/lua/parts/take.lua", "tests/integration/delayhub/engine/test_delay_queue_copies.py"),
        # rooms that are run whole
        ("tasksapp/models/job.py", "tests/integration/tasksapp/models"),
        ("tasksapp/migrations/0001_tables.py", "tests/integration/tasksapp/test_migrations_tables.py"),
        ("tasksapp/sql/claim_jobs.py", "tests/integration/tasksapp/sql"),
        ("tasksapp/conf.py", "tests/integration/tasksapp/test_tasks.py"),
        # tests themselves, and what they share
        ("tests/integration/tasksapp/test_tasks.py", "tests/integration/tasksapp/test_tasks.py"),
        ("tests/integration/tasksapp/series/conftest.py", "tests/integration/tasksapp/series/test_maker.py"),
        ("tests/job_rows.py", "tests/integration/tasksapp/admin/audit/test_history.py"),
    ],
)
def test_the_tests_of_a_file_are_run(changed: str, test: str) -> None:
    assert (ROOT / changed).exists()
    assert ROOT / test in chosen_for(ROOT / changed)


def test_a_test_that_is_gone_is_not_run() -> None:
    assert chosen_for(ROOT / "tests/unit/delayhub/test_that_was_deleted.py") == set()


def test_each_module_of_the_source_has_tests_that_are_run_for_it() -> None:
    doing = [path for path in python_files("delayhub", "tasksapp") if path.name != "__init__.py"]
    without = [str(path.relative_to(ROOT)) for path in doing if not chosen_for(path)]

    assert len(without) < len(doing) / 10, without


def test_each_part_in_lua_is_in_a_verb_that_tests_call() -> None:
    scripts = sorted((ROOT / "delayhub/engine/lua").rglob("*.lua"))

    assert [script.name for script in scripts if not verbs_with(script) or not chosen_for(script)] == []
