"""Exports: whole, in order, harmless, recorded, and never all at once."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from cryptography.fernet import Fernet
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.db.models import Q
from django.test import RequestFactory
from django.utils import timezone

from tasksapp.access.actors import Actor
from tasksapp.jobs import export as module
from tasksapp.jobs.creation import create
from tasksapp.jobs.export import FIELDS, FORMATS, Export, streamed
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.listing import JobList, TookTooLong
from tasksapp.models import AuditEntry, BizType, Job, Status
from tasksapp.models.sealable import UNREADABLE
from tests.fixture_types import MakeBizType
from tests.job_rows import job_row

pytestmark = [pytest.mark.django_db, pytest.mark.database]
ADA = Actor("ada", "192.0.2.7")
ROWS = 1_203


@pytest.fixture
def kinds(make_biz_type: MakeBizType) -> list[BizType]:
    """Two biz types with jobs of several pages."""
    kinds = [make_biz_type(code) for code in ("a", "b")]
    now = timezone.now()
    Job.objects.bulk_create(
        job_row(kinds[number % 2], Status.DEAD, biz_id=f"n-{number}", finished_at=now - timedelta(seconds=number // 4))
        for number in range(ROWS)
    )
    return kinds


def listed(kinds: list[BizType], *, order: str = "-id", **asked: Any) -> JobList:
    return JobList(job_filter=JobFilter(**asked), statuses=(Status.DEAD,), order=order, biz_types=kinds)


def export(found: JobList, kind: str = "ndjson", **asked: Any) -> Export:
    return Export(found, kind, by=ADA, asked=asked)


def lines(parts: Iterator[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in b"".join(parts).splitlines()]


@pytest.mark.parametrize("order", ["-id", "-finished_at", "finished_at"])
def test_each_job_is_there_once_in_the_order_of_the_list(kinds: list[BizType], order: str) -> None:
    found = [line["id"] for line in lines(export(listed(kinds, order=order)))]

    ties = order if order.endswith("id") else f"{order[:-11]}id"
    assert found == [str(one) for one in Job.objects.order_by(order, ties).values_list("id", flat=True)]


def test_a_line_has_the_job_with_its_body_as_it_was_written(make_biz_type: MakeBizType) -> None:
    biz_type = make_biz_type("a")
    Job.objects.bulk_create([
        job_row(biz_type, Status.DEAD, biz_id="json", body='{"price": 1e2}'),
        job_row(biz_type, Status.DEAD, biz_id="text", body="null", raw="<é/>".encode()),
        job_row(biz_type, Status.DEAD, biz_id="bytes", body="null", raw=b"\xff"),
    ])  # fmt: skip

    text = b"".join(export(listed([biz_type]))).decode()
    found = {line["biz_id"]: line for line in map(json.loads, text.splitlines())}

    assert '"body":{"price": 1e2}' in text
    assert all(tuple(line) == FIELDS for line in found.values())
    assert (found["json"]["body_text"], found["text"]["body_text"]) == (None, "<é/>")
    assert (found["text"]["body"], found["bytes"]["body_base64"]) == (None, "/w==")
    assert (found["json"]["biz_type"], found["json"]["status"]) == ("a", "dead")


@pytest.mark.parametrize("fields", [[], ["/card"]], ids=["plain", "masked"])
def test_a_body_that_was_written_in_several_lines_is_in_one(make_biz_type: MakeBizType, fields: list[str]) -> None:
    biz_type = make_biz_type("a", masked_fields=fields)
    Job.objects.bulk_create([job_row(biz_type, Status.DEAD, body='{\n  "order": 42,\r\n  "said": "a\\nb"\n}')])

    (line,) = b"".join(export(listed([biz_type]))).split(b"\n")[:-1]

    assert json.loads(line)["body"] == {"order": 42, "said": "a\nb"}


@pytest.mark.parametrize("sign", [*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20"])
def test_no_cell_of_a_csv_is_a_formula(make_biz_type: MakeBizType, sign: str) -> None:
    biz_type = make_biz_type("a")
    formula = f"{sign}cmd|' /C calc'!A0"
    row = job_row(biz_type, Status.DEAD, biz_id=f'{sign}1,"x"', last_error=formula, body=json.dumps(formula))
    Job.objects.bulk_create([row])

    (cells,) = csv.DictReader(io.StringIO(b"".join(export(listed([biz_type]), "csv")).decode(), newline=""))

    assert (cells["biz_id"], cells["last_error"]) == (f'\'{sign}1,"x"', f"'{formula}")
    assert not [name for name, cell in cells.items() if cell.startswith(sign)]
    assert json.loads(cells["body"]) == formula


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("sign", [*"=+-@", "\uff1d"])
def test_no_cell_is_a_formula_where_a_program_splits_lines_elsewhere(
    make_biz_type: MakeBizType, sign: str, separator: str
) -> None:
    biz_type = make_biz_type("a")
    texts = [f"a{separator}{sign}1+1", f'b{separator} "{sign}1', f"c{separator}{sign}1{separator}{sign}2"]
    body = '{"texts":\t' + json.dumps(texts, ensure_ascii=False) + ',"x":\t-1}'
    request = json.dumps({"headers": {"X-Text": texts[0]}})
    Job.objects.bulk_create([job_row(biz_type, Status.DEAD, last_error="|".join(texts), body=body, request=request)])
    text = b"".join(export(listed([biz_type]), "csv")).decode()

    cells = [cell for line in csv.reader(io.StringIO(text, newline=""), delimiter=separator) for cell in line]
    (row,) = csv.DictReader(io.StringIO(text, newline=""))

    assert [cell for cell in cells if cell.lstrip(' "').startswith(sign)] == []
    assert json.loads(row["body"]) == {"texts": texts, "x": -1}
    assert row["last_error"].count("'") == 4


@pytest.mark.parametrize("sign", [*"=+-@", "\uff1d"])
def test_no_line_of_a_text_is_a_formula_where_a_program_splits_lines_elsewhere(
    make_biz_type: MakeBizType, sign: str
) -> None:
    biz_type = make_biz_type("a")
    text = f'a\n{sign}1+1\r\n "{sign}2'
    Job.objects.bulk_create(
        [
            job_row(biz_type, Status.DEAD, last_error=text, body="[\n-1\n]"),
            job_row(biz_type, Status.DEAD, raw=text.encode(), body="null"),
        ]
    )
    file = b"".join(export(listed([biz_type]), "csv")).decode()

    cells = [cell for line in csv.reader(io.StringIO(file, newline=""), delimiter=";") for cell in line]
    rows = list(csv.DictReader(io.StringIO(file, newline="")))

    assert [cell for cell in cells if cell.lstrip(' "').startswith(sign)] == []
    assert {row["last_error"] or row["body_text"] for row in rows} == {f"a\n'{sign}1+1\r\n \"'{sign}2"}
    assert [json.loads(row["body"]) for row in rows if row["body"]] == [[-1]]


def test_a_csv_has_its_names_once_and_a_line_for_each_job(kinds: list[BizType]) -> None:
    rows = list(csv.reader(io.StringIO(b"".join(export(listed(kinds), "csv")).decode(), newline="")))

    assert rows[0] == list(FIELDS)
    assert len(rows) == ROWS + 1
    assert {len(row) for row in rows} == {len(FIELDS)}


@pytest.mark.parametrize("kind", FORMATS)
def test_of_no_job_there_is_an_export_too(make_biz_type: MakeBizType, kind: str) -> None:
    text = b"".join(export(listed([make_biz_type("a")]), kind)).decode()

    assert text.splitlines() == ([",".join(FIELDS)] if kind == "csv" else [])
    assert AuditEntry.objects.get().after["rows"] == 0


def test_masked_fields_are_masked(make_biz_type: MakeBizType) -> None:
    biz_type = make_biz_type("a", masked_fields=["/card"])
    Job.objects.bulk_create([job_row(biz_type, Status.DEAD, body='{"card":"4111111111111111","order":42}')])

    for kind in FORMATS:
        text = b"".join(export(listed([biz_type]), kind)).decode()
        assert "4111" not in text
        assert "[masked " in text


def test_fields_that_are_masked_meanwhile_are_masked_from_the_next_page_on(
    make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_JOBS", 2)
    biz_type = make_biz_type("a")
    Job.objects.bulk_create([job_row(biz_type, Status.DEAD, body='{"card":"4111111111111111"}') for _ in range(4)])
    begun = export(listed([biz_type]))
    first = next(begun)

    BizType.objects.filter(pk=biz_type.pk).update(masked_fields=["/card"])

    assert first.count(b"4111") == 2
    assert [line["body"]["card"][:8] for line in lines(begun)] == ["[masked "] * 2


def test_it_is_recorded_when_it_begins_and_how_many_rows_it_had_when_it_ends(kinds: list[BizType]) -> None:
    begun = export(listed(kinds, biz_type="a"), biz_type="a", status="dead")
    first = AuditEntry.objects.get()
    asked = {"format": "ndjson", "filter": {"biz_type": "a", "status": "dead"}}
    assert (first.verb, first.actor, first.address, first.biz_type_id) == ("export", "ada", "192.0.2.7", kinds[0].pk)
    assert first.after == asked

    list(begun)
    begun.close()

    assert AuditEntry.objects.get().after == {**asked, "rows": (ROWS + 1) // 2, "whole": True}


def test_who_stops_taking_stops_the_reading(kinds: list[BizType]) -> None:
    begun = export(listed(kinds))
    next(begun)
    connection.force_debug_cursor, before = True, len(connection.queries_log)

    begun.close()

    ran = [query["sql"] for query in list(connection.queries_log)[before:]]
    connection.force_debug_cursor = False
    assert [sql.split()[0] for sql in ran if "SAVEPOINT" not in sql] == ["UPDATE"]
    assert list(begun) == []
    entry = AuditEntry.objects.get()
    assert (entry.after["rows"], entry.after["whole"]) == (module.MOST_JOBS, False)


def test_large_bodies_come_in_smaller_pages(make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch) -> None:
    biz_type = make_biz_type("a")
    large = json.dumps("x" * 20_000)
    Job.objects.bulk_create([job_row(biz_type, Status.DEAD, body=large) for _ in range(40)])
    Job.objects.bulk_create([job_row(biz_type, Status.DEAD) for _ in range(25)])  # the newest, which come first
    monkeypatch.setattr(module, "MOST_JOBS", 30)
    monkeypatch.setattr(module, "PAGE_BYTES", 210_000)

    sizes = [part.count(b"\n") for part in export(listed([biz_type]))]

    assert sizes == [30, 10, 10, 10, 5]


def test_what_no_index_leads_to_in_time_is_refused_before_anything_is_sent(
    kinds: list[BizType], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(self: JobList, **_: Any) -> Any:
        raise TookTooLong

    monkeypatch.setattr(JobList, "page", never)

    with pytest.raises(TookTooLong):
        export(listed(kinds))
    assert not AuditEntry.objects.exists()


def test_its_memory_does_not_grow_with_the_rows(kinds: list[BizType]) -> None:
    sum(len(part) for part in export(listed(kinds)))  # what is made once is made
    peaks = []
    for many in (module.MOST_JOBS + 1, ROWS):
        ids = tuple(Job.objects.order_by("-id").values_list("id", flat=True)[:many])
        found = JobList(job_filter=JobFilter(), statuses=(), order="-id", biz_types=kinds, condition=Q(id__gte=ids[-1]))
        tracemalloc.start()
        size = sum(len(part) for part in export(found))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert size > many * 300

    assert peaks[1] < peaks[0] * 1.25


def asgi_request() -> ASGIRequest:
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
    return ASGIRequest(scope, io.BytesIO())


@pytest.mark.django_db(transaction=True)
def test_under_asgi_it_is_sent_part_by_part_too(kinds: list[BizType], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PART_BYTES", 10**9)  # a page is one part

    async def take() -> AuditEntry:
        parts = aiter(answer)
        assert len([await anext(parts), await anext(parts)]) == 2
        await sync_to_async(answer.close)()  # as Django does when the client has gone
        # Before the loop ends, which would end what was left open; that of a server goes on.
        return await AuditEntry.objects.aget()

    answer = streamed(asgi_request(), export(listed(kinds)), kind="ndjson")
    assert answer.is_async

    after = async_to_sync(take)().after
    assert (after.get("rows"), after.get("whole")) == (2 * module.MOST_JOBS, False)


@pytest.mark.django_db(transaction=True)
def test_the_answer_is_a_file(kinds: list[BizType]) -> None:
    answer = streamed(RequestFactory().get("/"), export(listed(kinds), "csv"), kind="csv")

    assert answer.headers["Content-Disposition"] == 'attachment; filename="jobs.csv"'
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    answer.close()
    assert AuditEntry.objects.get().after["whole"] is False


@pytest.mark.django_db(transaction=True)
def test_what_is_encrypted_is_exported_open_and_masked_or_said_to_be_unreadable(
    make_biz_type: MakeBizType, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}
    biz_type = make_biz_type("a", encrypted=True, masked_fields=["/card"])
    create("a", delay=60, body={"card": "4111111111111111", "order": 42})
    found = JobList(job_filter=JobFilter(), statuses=(), order="-id", biz_types=[biz_type])

    (read,) = lines(export(found))
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}
    (unread,) = lines(export(found))

    assert read["body"]["order"] == 42
    assert read["body"]["card"].startswith("[masked ")
    assert (unread["body"], unread["last_error"]) == (None, UNREADABLE)
