"""A database that answers and takes no writes is told from one that is away, and it is said why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test import Client

from tasksapp.access.keys import issue_key
from tasksapp.health.readiness import readiness
from tasksapp.models import BizType, Job
from tasksapp.stats import database_writes
from tasksapp.stats.database_writes import NoWrites, forget_refusals, no_writes, note_refusal, refusal_of
from tasksapp.stats.delivery_health import DeliveryState, delivery_health
from tests.inline_thread import InlineThread
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

#: What a job of this size needs is in no page that the tests' database has already.
BODY = {"text": "x" * 60_000}


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(readiness, "_thread", InlineThread())
    forget_refusals()
    readiness.forget()
    yield
    forget_refusals()
    readiness.forget()


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@contextmanager
def full_disk() -> Iterator[None]:
    """No row of a job can be stored: SQLite says so by itself, and PostgreSQL's words come from a trigger."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM")  # pages that earlier tests have freed would do
            (before,) = cursor.execute("PRAGMA max_page_count").fetchone()
            (used,) = cursor.execute("PRAGMA page_count").fetchone()
            cursor.execute(f"PRAGMA max_page_count = {used}")
        yield
        execute(f"PRAGMA max_page_count = {before}")
        return
    execute(
        "CREATE FUNCTION refuse_full() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$"
    )
    execute("CREATE TRIGGER refuse_full BEFORE INSERT ON delayhub_job FOR EACH ROW EXECUTE FUNCTION refuse_full()")
    yield
    execute("DROP TRIGGER refuse_full ON delayhub_job")
    execute("DROP FUNCTION refuse_full()")


@contextmanager
def read_only() -> Iterator[None]:
    """The database answers what is read, and refuses changes."""
    if connection.vendor == "sqlite":
        execute("PRAGMA query_only = 1")
        yield
        execute("PRAGMA query_only = 0")
        return
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    connection.close()  # also those that are made later are read-only
    try:
        yield
    finally:
        execute("SET default_transaction_read_only = off")
        execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        connection.close()


def post_jobs(client: Client, path: str, body: object, key: str) -> tuple[int, dict[str, Any], str | None]:
    headers = {"authorization": f"Bearer {key}"}
    answer = client.post(path, body, content_type="application/json", headers=headers)
    return answer.status_code, answer.json(), answer.headers.get("Retry-After")


JOB = {"biz_type": "order.close", "body": BODY}


@pytest.mark.parametrize(("path", "body"), [("/api/v1/jobs", JOB), ("/api/v1/jobs/bulk", {"jobs": [JOB, JOB]})])
def test_a_create_on_a_full_disk_says_so_and_so_does_the_health(
    client: Client, biz_type: BizType, path: str, body: object
) -> None:
    key = issue_key("shop", scopes=["jobs:write", "stats"]).key
    client.raise_request_exception = False

    with full_disk():
        status, problem, retry_after = post_jobs(client, path, body, key)
        health, ready = delivery_health(), client.get("/readyz")

    assert (status, problem["code"], retry_after) == (503, "storage_full", "5")
    assert Job.objects.count() == 0
    assert health.state is DeliveryState.DATABASE_FULL
    assert "disk is full" in health.sentence
    assert (ready.status_code, ready.json()["database"], ready.json()["state"]) == (200, "full", "database full")
    forget_refusals()
    assert post_jobs(client, path, body, key)[0] in {200, 201}


def test_a_create_on_a_read_only_database_says_so_and_so_does_the_health(client: Client, biz_type: BizType) -> None:
    key = issue_key("shop", scopes=["jobs:write", "stats"]).key
    client.raise_request_exception = False

    with read_only():
        status, problem, retry_after = post_jobs(client, "/api/v1/jobs", JOB, key)
        health = delivery_health()

    assert (status, problem["code"], retry_after) == (503, "database_read_only", "5")
    assert health.state is DeliveryState.DATABASE_READ_ONLY
    assert no_writes(using="default") is None


@pytest.mark.sqlite_only
def test_a_file_that_cannot_be_written_is_read_only_and_a_full_disk_is_seen_before_a_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("os.access", lambda path, mode: False)
        assert no_writes(using="default") is NoWrites.READ_ONLY

    class Full:
        f_bavail, f_flag = 0, 0

    with monkeypatch.context() as patched:
        patched.setattr("os.statvfs", lambda path: Full)
        assert no_writes(using="default") is NoWrites.FULL


@pytest.mark.postgresql_only
def test_a_standby_is_named() -> None:
    # pg_is_in_recovery() of another schema comes first: the one of a standby says the same.
    execute("CREATE SCHEMA standby")
    execute("CREATE FUNCTION standby.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'")
    execute("SET search_path = standby, public, pg_catalog")
    try:
        assert no_writes(using="default") is NoWrites.STANDBY
        assert delivery_health().state is DeliveryState.DATABASE_STANDBY
    finally:
        execute("RESET search_path")
        execute("DROP SCHEMA standby CASCADE")


def test_a_refusal_is_forgotten_after_a_while(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_writes, "REMEMBERED_SECONDS", 0.0)

    with full_disk():
        with pytest.raises(DatabaseError) as refused:
            store_job(biz_type, body=BODY["text"])
        assert note_refusal(refused.value) is NoWrites.FULL

    assert no_writes(using="default") is None


def test_another_error_is_no_refusal() -> None:
    with pytest.raises(DatabaseError) as failed:
        execute("SELECT nothing FROM nowhere")

    assert refusal_of(failed.value) is None
    assert refusal_of(ValueError("53100")) is None
