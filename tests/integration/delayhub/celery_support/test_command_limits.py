"""``celery -A app delayhub rate-limit`` and ``max-in-flight``: limits that persons set."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from celery import Celery
from click.testing import Result

from delayhub.engine import DelayQueue

Run = Callable[..., Result]


def document(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_max_in_flight_sets_how_many_of_a_task_run_at_once(app: Celery, run: Run, queue: DelayQueue) -> None:
    assert document(run("max-in-flight", "shop.report", "3", "--json"))["queues"] == 1
    (row,) = document(run("limits", "--json"))
    assert (row["task"], row["rate"], row["at_once"]) == ("shop.report", None, 3)

    assert run("max-in-flight", "shop.report", "declared").exit_code == 0
    assert document(run("limits", "--json")) == []
    assert run("max-in-flight", "shop.report", "many").exit_code == 2


def test_limits_of_each_flow_key_are_set_and_shown(app: Celery, run: Run, queue: DelayQueue) -> None:
    assert document(run("rate-limit", "--each-key", "shop.close", "1/h", "--json"))["queues"] == 1
    for tenant in ("acme", "acme", "acme", "zeta"):
        app.tasks["shop.close"].apply_async(["1"], flow_key=tenant)
    assert len(queue.claim(10).entries) == 2

    (row,) = document(run("limits", "--json"))
    assert (row["task"], row["each_key"], row["rate"], row["parked"], row["keys"]) == ("shop.close", True, "1/h", 2, 1)
    (key,) = document(run("flow-keys", "--json"))
    assert (key["queue"], key["task"], key["flow_key"], key["parked"]) == ("celery", "shop.close", "acme", 2)
    assert document(run("rate-limit", "--each-key", "shop.close", "0", "--json"))["queues"] == 1

    assert run("rate-limit", "--each-key", "shop.close", "declared").exit_code == 0
    assert document(run("flow-keys", "--json")) == []
    assert queue.count().ready == 2
    for wrong in ("fast", "nan/s", ""):
        result = run("rate-limit", "shop.close", wrong)
        assert (result.exit_code, "a rate limit is like 10/s" in result.output) == (2, True)


def test_a_limit_of_a_task_that_the_app_does_not_have_names_the_nearest(app: Celery, run: Run) -> None:
    said = "This app has no task shop.clsoe; is shop.close meant? The limit is set all the same."

    assert said in run("rate-limit", "shop.clsoe", "1/s").output
    assert said in run("max-in-flight", "shop.clsoe", "2").output
    assert "has no task" not in run("rate-limit", "shop.close", "1/s").output


def test_a_table_has_no_column_in_which_no_row_says_anything(app: Celery, run: Run, queue: DelayQueue) -> None:
    run("rate-limit", "shop.close", "1/s")

    heads, row = run("limits").output.splitlines()

    assert heads.split()[:2] == ["queue", "task"]
    assert "at_once" not in heads.split()
    assert max(map(len, (heads, row))) < 100
