"""PostgreSQL finds rows by the indexes that were made for them, however many others there are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tasksapp import jobs
from tasksapp.errors import JobNotFound
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.listing import JobList
from tasksapp.maintenance.creation_counter import CreationCounter
from tasksapp.models import LIVE, BizType, Job, Status, Tombstone
from tasksapp.sql.claim_jobs import claim_jobs
from tasksapp.sql.first_jobs import due_jobs, has_jobs, has_jobs_in
from tasksapp.sql.leases import return_lost_leases
from tasksapp.sql.pending_rows import Position, pages
from tasksapp.sql.purge_rows import purge_jobs
from tasksapp.sql.timer_work import timer_work
from tasksapp.sql.write_outcomes import write_outcomes
from tasksapp.stats.counts import count_bounded
from tests.fixture_types import MakeBizType
from tests.outcomes import finished

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql_only]

#: Half have succeeded, a fifth is dead, a fifth is pending in the next month, the rest runs.
_ROWS = """
INSERT INTO delayhub_job (id, biz_type_id, biz_id, due_at, body, priority, max_attempts, traceparent, next_run_at,
    status, attempts, attempt_base, system_errors, version, worker, last_error, created_at, updated_at,
    finished_at, lease_until, flow_key)
SELECT gen_random_uuid(), %(biz_type)s, 'order-' || n, moment, '{}', 5, NULL, '', moment,
    status, 0, 0, 0, 1, '', '', moment, moment,
    CASE WHEN status IN ('succeeded', 'dead') THEN moment END, CASE WHEN status = 'running' THEN moment END,
    'customer-' || n %% 999
FROM (
    SELECT n, CASE WHEN n %% 10 < 5 THEN 'succeeded' WHEN n %% 10 < 7 THEN 'dead'
            WHEN n %% 10 < 9 THEN 'pending' ELSE 'running' END AS status,
        now() + (CASE WHEN n %% 10 IN (7, 8) THEN 1 ELSE -1 END) * n * interval '1 minute' AS moment
    FROM generate_series(1, 20000) AS n
) AS made
"""


@pytest.fixture
def full_table(biz_type: BizType) -> BizType:
    """20 000 jobs of a biz type, and their statistics."""
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, {"biz_type": biz_type.id})
        cursor.execute("ANALYZE delayhub_job")
    return biz_type


def plans(act: Callable[[], Any]) -> Iterator[dict[str, Any]]:
    """The nodes of the plans of all statements of the action."""
    with CaptureQueriesContext(connection) as queries:
        act()
    for query in queries:
        if not re.match(r"\s*(SELECT|WITH|UPDATE|DELETE)", query["sql"]):
            continue
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN (FORMAT JSON) " + query["sql"].replace("%", "%%"), [])
            plan = cursor.fetchone()[0]
        yield from _nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


def scans(act: Callable[[], Any], *, of: str = "delayhub_job") -> set[str]:
    """The indexes by which the statements of the action read that table; 'Seq Scan' where they read all of it."""
    found: set[str] = set()
    for node in plans(act):
        index = node.get("Index Name", "")
        if index.startswith(of):
            found.add(index)
        elif node.get("Relation Name") == of and node["Node Type"] == "Seq Scan":
            found.add("Seq Scan")
    return found


def some_ids(count: int) -> list[UUID]:
    return list(Job.objects.values_list("id", flat=True)[:count])


def test_a_claim_reads_the_rows_it_was_given(full_table: BizType) -> None:
    ids = some_ids(100)

    used = scans(lambda: claim_jobs(ids, now=timezone.now(), lease_seconds=9, worker="w", using="default"))

    assert used == {"delayhub_job_pkey"}


def test_a_claim_reads_the_rows_it_was_given_before_there_are_statistics(full_table: BizType) -> None:
    """As after an import: it read all that the biz type has, and a claim of 100 of 200 000 took five times as long."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM pg_statistic WHERE starelid IN ('delayhub_job'::regclass, 'delayhub_biz_type'::regclass)"
        )
        cursor.execute("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname = 'delayhub_biz_type'")
    ids = some_ids(100)

    used = scans(lambda: claim_jobs(ids, now=timezone.now(), lease_seconds=9, worker="w", using="default"))

    assert used == {"delayhub_job_pkey"}


def test_a_claim_compares_no_job_with_each_other_one(full_table: BizType) -> None:
    """Where the planner expected one row of a hundred, a claim of a hundred took twice as long."""
    ids = some_ids(100)

    nodes = list(plans(lambda: claim_jobs(ids, now=timezone.now(), lease_seconds=9, worker="w", using="default")))

    assert [node["Join Filter"] for node in nodes if "Join Filter" in node] == []


def test_due_jobs_are_read_and_sorted_no_further_than_they_are_wanted(
    full_table: BizType, make_biz_type: MakeBizType
) -> None:
    """One order over all biz types sorts every row that is due: 470 ms where 200 000 of a million are."""
    parts = [full_table.id, *(make_biz_type(f"other-{number}").id for number in range(3))]
    then = timezone.now() + timedelta(days=30)

    nodes = list(plans(lambda: due_jobs(dict.fromkeys(parts, 10), until=then, limit=10, using="default")))

    assert {node["Index Name"] for node in nodes if "Index Name" in node} == {"delayhub_job_pending"}
    (order,) = [node for node in nodes if node["Node Type"] == "Sort"]
    assert order["Plan Rows"] <= 10 * len(parts)


def test_outcomes_look_for_tombstones_in_one_place_of_their_plan(full_table: BizType) -> None:
    """Five places, each for the executor to choose from two, took three ms of planning for each write."""
    then = timezone.now() + timedelta(days=30)
    Tombstone.objects.bulk_create(
        Tombstone(biz_type=full_table, biz_id=f"paid-{number}", at=then, until=then) for number in range(2_000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE delayhub_tombstone")
    pending = list(Job.objects.filter(status="pending").values_list("id", flat=True)[:100])
    answer = claim_jobs(pending, now=then, lease_seconds=9, worker="w", using="default")
    outcomes = [finished(job.id, answer.token) for job in answer.claimed]
    assert len(outcomes) == 100

    nodes = list(plans(lambda: write_outcomes(outcomes, now=then, worker="w", using="default")))

    assert [node["Node Type"] for node in nodes if node.get("Relation Name") == "delayhub_tombstone"] == ["Index Scan"]


def test_a_sweep_begins_where_it_stopped(full_table: BizType) -> None:
    now = timezone.now()
    position = Position(now + timedelta(hours=1), UUID(int=0))

    for after in (None, now, position):
        used = scans(
            lambda after=after: next(  # type: ignore[misc]  # bound in this turn of the loop
                pages(full_table.id, after=after, until=now + timedelta(hours=3), using="default"), None
            )
        )
        assert used == {"delayhub_job_pending"}


def test_biz_types_without_jobs_cost_no_look_at_those_of_another(
    full_table: BizType, make_biz_type: MakeBizType
) -> None:
    """Each cost 130 ms a second where another one had 300 000 overdue jobs."""
    for number in range(20):
        make_biz_type(f"idle-{number}")
    then = timezone.now() + timedelta(days=30)

    sweep = scans(lambda: timer_work(now=then, after=None, until=then, overdue_since=then, using="default"))
    counts = scans(lambda: count_bounded(BizType.objects.all(), bound=1000))

    assert sweep == {"delayhub_job_pending", "delayhub_job_running"}
    assert "Seq Scan" not in counts


def test_it_is_known_whether_a_biz_type_has_jobs_before_statistics_are(
    full_table: BizType, make_biz_type: MakeBizType
) -> None:
    """As after a purge or an import: the statistics say that this biz type has all of the rows, and it has none."""
    Job.objects.update(biz_type=make_biz_type("other"))

    used = scans(lambda: has_jobs(full_table.id, using="default"))
    used |= scans(lambda: [has_jobs_in(status, full_table.id, using="default") for status in (*LIVE, Status.DEAD)])

    assert used <= {"delayhub_job_finished", "delayhub_job_pending", "delayhub_job_running", "delayhub_job_died"}


def test_jobs_that_run_are_looked_for_among_those_alone_before_there_are_statistics(biz_type: BizType) -> None:
    """As after an import into a new site: all that the biz type had was read, 67 ms where it had 50 000 jobs."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE delayhub_job CASCADE")
        cursor.execute(_ROWS, {"biz_type": biz_type.id})

    used = scans(lambda: has_jobs_in(Status.RUNNING, biz_type.id, using="default"))

    assert used == {"delayhub_job_running"}


def test_lost_leases_are_found_without_reading_the_others(full_table: BizType) -> None:
    then = timezone.now() - timedelta(days=13)

    used = scans(lambda: return_lost_leases(now=then, limit=10, max_system_errors=9, using="default"))

    assert used <= {"delayhub_job_running", "delayhub_job_pkey"}
    assert "delayhub_job_running" in used


def test_a_purge_reads_the_oldest_only(full_table: BizType) -> None:
    then = timezone.now() - timedelta(days=13)

    used = scans(lambda: purge_jobs(full_table.id, before=then, using="default"))

    assert used == {"delayhub_job_finished", "delayhub_job_pkey"}


def test_created_jobs_are_counted_along_their_ids(full_table: BizType) -> None:
    counter, now = CreationCounter(using="default"), timezone.now()
    counter.run_once(now=now - timedelta(minutes=1))
    jobs.create("order.close", delay=60)

    used = scans(lambda: counter.run_once(now=now + timedelta(minutes=2)))

    assert used == {"delayhub_job_pkey"}


def test_a_job_is_found_by_its_business_key(full_table: BizType) -> None:
    def look() -> None:
        with pytest.raises(JobNotFound):
            jobs.find_live("order.close", "order-nobody")

    assert scans(look) == {"delayhub_job_biz_id_prefix"}


def test_dead_jobs_are_listed_by_an_index_of_their_own(full_table: BizType) -> None:
    used = scans(lambda: list(Job.objects.filter(status="dead").order_by("-id")[:50]))

    assert used == {"delayhub_job_dead"}


@pytest.mark.parametrize(
    ("status", "order", "index"),
    [
        (Status.PENDING, "next_run_at", "delayhub_job_pending"),
        (Status.SUCCEEDED, "-finished_at", "delayhub_job_finished"),
        (Status.DEAD, "-finished_at", "delayhub_job_died"),
    ],
)
def test_a_list_of_a_biz_type_in_an_order_of_times_walks_past_no_other(
    full_table: BizType, make_biz_type: MakeBizType, status: Status, order: str, index: str
) -> None:
    """By their ids, it walks past all newer ones: 41 000 rows for a page, at ten million."""
    few = make_biz_type("few")
    Job.objects.filter(id__in=Job.objects.filter(status=status).values("id")[:3]).update(biz_type=few)
    listed = JobList(job_filter=JobFilter(biz_type="few"), statuses=(status,), order=order, biz_types=[full_table, few])

    used = scans(listed.page)

    assert used - {"delayhub_job_pkey"} == {index}
    assert len(listed.page().jobs) == 3


@pytest.mark.parametrize(
    ("statuses", "order"),
    [
        ((), "-id"),
        ((Status.PENDING,), "next_run_at"),
        ((Status.DEAD,), "-finished_at"),
        ((Status.SUCCEEDED,), "-finished_at"),
        ((Status.PENDING, Status.RUNNING), "-id"),
        ((Status.RUNNING,), "lease_until"),
    ],
)
def test_jobs_of_a_flow_key_are_listed_without_reading_others(
    full_table: BizType, statuses: tuple[Status, ...], order: str
) -> None:
    wanted = JobFilter(flow_key="customer-456")
    listed = JobList(job_filter=wanted, statuses=statuses, order=order, biz_types=[full_table])

    used = scans(listed.page)

    assert used - {"delayhub_job_pkey"} <= {"delayhub_job_key_not_running", "delayhub_job_running"}
    assert ("delayhub_job_key_not_running" in used) == (statuses != (Status.RUNNING,))
    theirs = [job for job in Job.objects.filter(flow_key="customer-456") if not statuses or job.status in statuses]
    assert {job.id for job in listed.page().jobs} == {job.id for job in theirs}
    assert theirs
