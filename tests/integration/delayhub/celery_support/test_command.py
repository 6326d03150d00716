"""``celery -A app delayhub …``: what it prints, and what it does."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import pytest
import redis
from celery import Celery
from celery.bin.base import CLIContext
from click.testing import CliRunner, Result
from kombu import Connection, Producer

from delayhub.celery_support.command import delayhub as command
from delayhub.engine import Counts, DelayQueue, Entry, SystemClock, TimerLane
from delayhub.local.redis_server import RedisServer
from tasksapp.task_backends.delayed_task import TableStore

Run = Callable[..., Result]


def do_nothing() -> None: ...


def document(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def failed_check(run: Run) -> list[dict[str, str]]:
    """The findings of ``check``, which ended with an exit code."""
    result = run("check", "--json")
    assert result.exit_code == 1, result.output
    found: list[dict[str, str]] = json.loads(result.output)
    return found


def test_celery_finds_the_command() -> None:
    assert "delayhub.celery_support.command_group:group" in {
        found.value for found in entry_points(group="celery.commands", name="delayhub")
    }


def test_counts_and_scheduled_show_what_waits(app: Celery, run: Run) -> None:
    task = app.tasks["shop.close"].apply_async(["order-1"], countdown=100)

    assert document(run("counts", "--json")) == [
        {"queue": "celery", "waiting": 1, "ready": 0, "leased": 0, "dead": 0, "parked": 0}
    ]
    (shown,) = document(run("scheduled", "--json"))
    assert (shown["id"], shown["task"], shown["args"]) == (task.id, "shop.close", "['order-1']")
    table = run("scheduled").output.splitlines()
    assert table[0].split()[:3] == ["id", "task", "at"]
    assert task.id in table[1]


def test_check_names_a_misspelt_option_and_modules_that_cannot_be_imported(
    app: Celery, run: Run, queue: DelayQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.task(name="shop.once", uniqe=True, shared=False)(do_nothing)
    assert "uniqe= of shop.once is no option" in run("check").output

    def fail() -> None:
        raise ImportError("no module named stripe")

    monkeypatch.setattr(app.loader, "import_default_modules", fail)

    (fault,) = [row for row in failed_check(run) if row["level"] == "fault"]
    assert "no worker starts: ImportError('no module named stripe')" in fault["about"]


def test_an_address_that_no_other_broker_has_is_refused(app: Celery, run: Run) -> None:
    for wrong in ("http://127.0.0.1", "bogus"):
        result = run("import-redis", "--dry-run", "--from", wrong)
        assert (result.exit_code, "the other broker is a URL such as redis://" in result.output) == (1, True)


def test_unique_shows_the_keys_that_are_taken_and_frees_one(app: Celery, run: Run) -> None:
    first = app.tasks["shop.close"].apply_async(["order-1"], unique="order:1")
    app.tasks["shop.close"].apply_async(["order-2"], unique={"key": "order:2", "until": 60})

    one, two = document(run("unique", "--json"))
    assert one == {
        "queue": "celery",
        "key": "order:1",
        "id": first.id,
        "until": "end",
        "waiting": 0,
        "till": None,
    }
    assert (two["key"], two["until"], two["till"] is None) == ("order:2", "time", False)

    assert document(run("unique", "--free", "order:1", "--json"))["freed"] is True
    assert document(run("unique", "--free", "order:1", "--json"))["freed"] is False
    assert [row["key"] for row in document(run("unique", "--json"))] == ["order:2"]


def test_counts_shows_the_timers_of_a_timer_lane(app: Celery, run: Run, redis_client: redis.Redis) -> None:
    lane, now = TimerLane(redis_client, "timers"), SystemClock().now_ms()
    lane.ensure("order.close", [("past", now - 60_000), ("leased", now - 120_000)])
    lane.ensure("order.remind", [("later", now + 3_600_000)])
    claimed = lane.claim(1)
    assert [batch.ids for batch in claimed.batches] == [["leased"]]

    (row,) = document(run("counts", "-Q", "timers", "--json"))

    assert row == {"queue": "timers", "waiting": 1, "ready": 1, "leased": 1, "dead": 0, "parked": 0}


def test_reschedule_moves_and_revoke_removes(app: Celery, run: Run, queue: DelayQueue) -> None:
    task = app.tasks["shop.close"].apply_async(["order-1"], countdown=100)
    (before,) = queue.list("waiting")

    assert document(run("reschedule", task.id, "--countdown", "500", "--json")) == {"id": task.id, "moved": True}
    (after,) = queue.list("waiting")
    assert 399_000 < after.at_ms - before.at_ms < 401_000
    assert document(run("reschedule", "unknown", "--eta", "2031-01-01T00:00:00", "--json"))["moved"] is False
    assert run("reschedule", task.id).exit_code == 2
    for wrong in ("nan", "1e300", "inf"):
        result = run("reschedule", task.id, "--countdown", wrong)
        assert (result.exit_code, "a countdown is a number of seconds" in result.output) == (1, True)
    assert document(run("revoke", task.id, "--json")) == {"revoked": 1}
    assert queue.count() == Counts(0, 0, 0, 0)


@pytest.mark.parametrize("compact", [False, True])
def test_show_says_where_a_task_is_and_what_its_message_holds(app: Celery, run: Run, compact: bool) -> None:
    app.conf.broker_transport_options = {"compact": compact}
    task = app.tasks["shop.close"].apply_async(["order-1"], countdown=100, priority=3)
    app.tasks["shop.close"].apply_async(["order-2"])

    (shown,) = document(run("show", task.id, "--json"))
    assert (shown["queue"], shown["place"], shown["task"]) == ("celery", "waiting", "shop.close")
    assert (shown["args"], shown["kwargs"], shown["step"]) == ("['order-1']", "{}", 1)
    lines = [line.split(maxsplit=1) for line in run("show", task.id).output.splitlines()]
    assert ["task", "shop.close"] in lines
    assert ["args", "['order-1']"] in lines
    app.control.revoke(task.id)
    for nowhere in (task.id, "unknown"):
        result = run("show", nowhere)
        assert (result.exit_code, result.output) == (1, "none\n")


def test_dead_tasks_are_shown_with_the_reason_and_redriven(run: Run, queue: DelayQueue) -> None:
    queue.schedule([Entry("t1", payload=b"?")])
    (claimed,) = queue.claim(1).entries
    queue.bury([queue.lease(claimed.id, claimed.token)], reason="unreadable")

    (dead,) = document(run("dead", "--json"))
    assert (dead["id"], dead["reason"], dead["task"]) == ("t1", "unreadable", "(unreadable)")
    assert document(run("redrive", "t1", "--json")) == {"redriven": 1}
    assert run("dead").output == "none\n"
    assert queue.count() == Counts(0, 1, 0, 0)


def test_check_names_what_is_wrong(run: Run, redis_client: redis.Redis) -> None:
    assert [row["level"] for row in document(run("check", "--json"))] == ["warning"]  # the test's server keeps nothing

    redis_client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        rows = failed_check(run)
    finally:
        redis_client.config_set("maxmemory-policy", "noeviction")

    assert rows[0]["level"] == "fault"
    assert rows[0]["about"].startswith("this Redis server: maxmemory-policy is allkeys-lru")


def test_an_app_without_delayhub_is_refused_in_a_sentence() -> None:
    other = Celery("other", broker="memory://", set_as_current=False)

    result = CliRunner().invoke(command, ["counts"], obj=CLIContext(app=other, no_color=True, workdir=None))

    assert result.exit_code == 1
    assert "delayhub.install(app)" in result.output
    other.close()


def test_an_app_that_its_loader_installs_needs_nothing_else(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELERY_LOADER", "delayhub.loader:Loader")
    plain = Celery("plain", broker=broker, set_as_current=False)

    result = CliRunner().invoke(command, ["counts"], obj=CLIContext(app=plain, no_color=True, workdir=None))

    assert result.output.split()[-6:] == ["celery", "0", "0", "0", "0", "0"]
    plain.close()


def test_a_broker_that_is_not_there_is_one_sentence(run: Run, app: Celery) -> None:
    app.conf.broker_url = "delayhub://127.0.0.1:1/0"
    app.conf.broker_transport_options = {"max_retries": 1, "interval_start": 0}

    result = run("counts")

    assert result.exit_code == 1
    assert "Connection refused" in result.output
    assert "Traceback" not in result.output


def test_check_says_that_the_broker_does_not_answer(run: Run, app: Celery) -> None:
    app.conf.broker_url = "delayhub://:hush@127.0.0.1:1/0"
    app.conf.broker_transport_options = {"max_retries": 1, "interval_start": 0}

    (row,) = failed_check(run)

    assert row["about"].startswith("no task runs: Redis does not answer: ")
    assert "hush" not in row["about"]


def test_import_redis_moves_lists_and_what_workers_held(
    run: Run, app: Celery, redis_server: RedisServer, redis_client: redis.Redis, queue: DelayQueue
) -> None:
    stock = Celery("old", broker=redis_server.url, set_as_current=False)
    for number in range(3):
        stock.send_task("shop.close", [f"order-{number}"], task_id=f"now-{number}", priority=number * 3)
    stock.send_task("shop.close", ["order-9"], countdown=1000, task_id="later")
    redis_client.lpush("celery", b"not json")
    with Connection(redis_server.url) as connection:
        # A worker of kombu's own transport holds tasks that are not due yet, in its hash of the unacknowledged.
        channel = connection.channel()
        channel.basic_get("celery")
        channel.qos._delivered.clear()  # killed, it gives nothing back
    assert redis_client.hlen("unacked") == 1

    assert document(run("import-redis", "--dry-run", "--json")) == {"ready": 4, "unacked": 1, "moved": 0}
    assert document(run("import-redis", "--yes", "--json")) == {"ready": 4, "unacked": 1, "moved": 5}

    assert queue.count() == Counts(1, 4, 0, 0)
    assert [listed.id for listed in queue.list("waiting")] == ["later"]
    assert {listed.id for listed in queue.list("ready")} > {"now-0", "now-1", "now-2"}
    assert redis_client.llen("celery") == redis_client.hlen("unacked") == redis_client.zcard("unacked_index") == 0
    assert document(run("import-redis", "--yes", "--json"))["moved"] == 0
    stock.close()


def test_queues_that_no_setting_declares_are_found_and_moved(
    run: Run, redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    # Names that no other test of this process has: kombu's pools remember what they have declared on this server.
    stock = Celery("old", broker=redis_server.url, set_as_current=False)
    stock.conf.task_routes = {"shop.bill": "old.bills"}
    for number in range(3):
        stock.send_task("shop.report", [number], queue="old.reports")
    for number in range(4):
        stock.send_task("shop.bill", [number], countdown=1000)
    redis_client.sadd("_kombu.binding.notes", "\x06\x16\x06\x16notes")
    redis_client.set("notes", "no queue of kombu's")

    warnings = [row["about"] for row in document(run("check", "--json"))]
    assert [about for about in warnings if about.startswith("7 messages of kombu's own transport")]
    assert document(run("import-redis", "--yes", "--json")) == {"ready": 7, "unacked": 0, "moved": 7}

    assert DelayQueue(redis_client, "old.reports").count() == Counts(0, 3, 0, 0)
    assert DelayQueue(redis_client, "old.bills").count() == Counts(4, 0, 0, 0)
    assert [row["queue"] for row in document(run("counts", "--json"))] == ["celery", "old.bills", "old.reports"]
    stock.close()


def test_an_import_that_was_cut_short_stores_nothing_twice(
    run: Run, redis_server: RedisServer, redis_client: redis.Redis, queue: DelayQueue
) -> None:
    stock = Celery("old", broker=redis_server.url, set_as_current=False)
    stock.send_task("shop.close", ["order-1"], task_id="once")
    (raw,) = redis_client.lrange("celery", 0, -1)
    run("import-redis", "--yes")
    redis_client.lpush("celery", raw)  # as if it had ended before it could be removed there

    run("import-redis", "--yes")

    assert queue.count() == Counts(0, 1, 0, 0)
    assert redis_client.llen("celery") == 0
    stock.close()


def test_what_is_bound_to_no_queue_stays_and_is_named_also_where_no_logging_is_set_up(
    run: Run, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis_client.hset("unacked", "1", json.dumps([{}, "gone", "gone.key"]))
    with monkeypatch.context() as patched:
        patched.setattr(logging.root, "handlers", [])

        result = run("import-redis", "--yes", "--json")

    assert document(result) == {"ready": 0, "unacked": 1, "moved": 0}
    assert "a message stays: no queue is bound to exchange 'gone' for 'gone.key'" in result.stderr


def test_publishing_through_kombu_does_not_count_as_left_behind(run: Run, app: Celery) -> None:
    with app.connection_for_write() as connection, connection.channel() as channel:
        Producer(channel).publish("x", routing_key="celery")

    assert all("import-redis" not in row["about"] for row in document(run("check", "--json")))


def test_export_redis_says_what_it_found_and_moved(run: Run, app: Celery) -> None:
    app.tasks["shop.close"].delay("order-1")

    found = document(run("export-redis", "--yes", "--json"))

    assert found == {"waiting": 0, "ready": 1, "moved": 1, "in_hands": 0, "dead": 0}


@pytest.mark.parametrize("command", ["import-redis", "export-redis"])
def test_moving_asks_whether_all_were_stopped_and_counting_does_not(
    command: str, run: Run, app: Celery, redis_server: RedisServer, queue: DelayQueue
) -> None:
    app.tasks["shop.close"].delay("order-1")

    assert "have been stopped?" not in run(command, "--dry-run").output
    refused = run(command)

    assert "been stopped?" in refused.output
    assert refused.exit_code == 1  # there was no answer
    assert queue.count() == Counts(0, 1, 0, 0)


@pytest.mark.parametrize("command", [["counts"], ["scheduled"], ["check"], ["import-redis", "--yes"]])
def test_a_broker_that_is_not_ours_is_one_sentence(
    command: list[str], run: Run, app: Celery, redis_server: RedisServer
) -> None:
    app.conf.broker_url = redis_server.url

    result = run(*command)

    assert result.exit_code == 1
    assert result.output == (
        "Error: the app's broker is redis://, on which this cannot be done: set broker_url to a delayhub:// address\n"
    )


def test_check_names_a_queue_with_due_tasks_that_no_worker_takes(run: Run, app: Celery) -> None:
    app.send_task("shop.close", queue="reports")
    app.send_task("shop.close", countdown=1000)  # it may wait

    said = [row["about"] for row in document(run("check", "--json")) if "no worker" in row["about"]]

    assert said == ["1 tasks are due on reports, and no worker that answers takes it"]


def test_backlog_shows_what_autoscalers_want(run: Run, app: Celery) -> None:
    app.send_task("shop.close")
    app.send_task("shop.close", countdown=1000)

    (row,) = document(run("backlog", "--json"))

    assert list(row) == ["queue", "waiting", "due", "leased", "dead", "late_seconds", "parked", "healed"]
    assert (row["queue"], row["waiting"], row["due"]) == ("celery", 1, 1)


def test_an_exporter_whose_port_is_taken_is_one_sentence(run: Run, redis_server: RedisServer) -> None:
    result = run("exporter", "--port", str(redis_server.port))

    assert result.exit_code == 1
    assert f"cannot listen on 127.0.0.1:{redis_server.port}" in result.output


@pytest.mark.django_db
def test_check_says_why_no_job_can_run(run: Run, app: Celery, current_celery: Celery, settings: Any) -> None:
    app.set_current()
    settings.DELAYHUB = {"REDIS_URL": str(app.conf.broker_url).replace("/0", "/3")}

    rows = failed_check(run)

    assert any("no job can run: the timers are in another Redis" in row["about"] for row in rows)


@pytest.mark.django_db
def test_check_says_that_no_worker_takes_the_timers(
    run: Run, app: Celery, current_celery: Celery, settings: Any
) -> None:
    app.set_current()
    settings.DELAYHUB = {}

    rows = failed_check(run)

    faults = [row["about"] for row in rows if row["level"] == "fault"]
    assert faults[-1].startswith("no job is delivered: no worker takes the timers of delayhub.timers")


@pytest.mark.django_db
def test_check_warns_of_what_the_store_of_jobs_warns_of(
    run: Run, app: Celery, current_celery: Celery, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.set_current()
    settings.DELAYHUB = {}
    monkeypatch.setattr(TableStore, "warnings", lambda _: ["tasks declare series that are not stored"])

    rows = failed_check(run)

    assert {"level": "warning", "about": "tasks declare series that are not stored"} in rows
