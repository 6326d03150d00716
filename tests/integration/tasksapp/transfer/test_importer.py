"""Importer: another site takes in what a tenant had, once, however often it is asked to."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp import jobs, series
from tasksapp.access.actors import Actor
from tasksapp.access.keys import find_key, issue_key
from tasksapp.biz_types.flow_keys import pause_key
from tasksapp.delivery.own_request import read_own_request
from tasksapp.errors import InvalidExport, KeyTaken
from tasksapp.models import ApiKey, AuditEntry, BizType, Job, PausedKey, Series, Status, Tenant, Tombstone
from tasksapp.models.encrypted_text import open_sealed
from tasksapp.models.job_keys import IdempotencyKey
from tasksapp.transfer import importer as module
from tasksapp.transfer.export_file import ExportFile
from tasksapp.transfer.exporter import Exporter
from tasksapp.transfer.importer import Imported, Importer
from tasksapp.transfer.transfer_key import TransferKey
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

KEY = Fernet.generate_key().decode()
HERE, THERE = (Fernet.generate_key().decode() for _ in range(2))
SECRET = {"headers": {"Authorization": "Bearer mine"}, "timeout_seconds": 3.5}


@pytest.fixture
def acme(settings: Any) -> Tenant:
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [HERE]}
    return Tenant.objects.create(code="acme", name="Acme Ltd")


@pytest.fixture
def another_site(settings: Any) -> Callable[[], None]:
    """``another_site()`` empties the database, and has other keys from then on."""

    def leave() -> None:
        for model in (Job, Series, ApiKey, BizType, AuditEntry, Tenant):
            model.objects.all().delete()
        settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [THERE]}

    return leave


def exported(tenant: Tenant, *, key: str = KEY) -> bytes:
    return "".join(Exporter(tenant, key=TransferKey(key), using="default").lines()).encode()


def take_in(text: bytes, *, tenant: str = "acme", key: str = KEY, paused: bool = False) -> Imported:
    row, _ = Tenant.objects.get_or_create(code=tenant)
    importer = Importer(
        ExportFile(io.BytesIO(text)), row, key=TransferKey(key), paused=paused, by=Actor("ada"), using="default"
    )
    for _looked_at in importer.run():
        pass
    return importer.done


def edited(text: bytes, edit: Callable[[dict[str, Any]], None]) -> bytes:
    """The export as it would be if its rows had been like that."""
    import hashlib

    records = [json.loads(line) for line in text.splitlines()[:-1]]
    for record in records:
        edit(record)
    lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records]
    kinds = [record["kind"] for record in records[1:]]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    end = {"kind": "end", "counts": counts, "sha256": hashlib.sha256("".join(lines).encode()).hexdigest()}
    return ("".join(lines) + json.dumps(end) + "\n").encode()


def values(model: Any, *without: str) -> list[dict[str, Any]]:
    """All rows, without columns that differ between sites."""
    rows = [
        {name: bytes(each) if isinstance(each, memoryview) else each for name, each in row.items()}
        for row in model.objects.order_by("pk").values()
    ]
    return [{name: each for name, each in row.items() if name not in without} for row in rows]


def test_another_site_has_all_that_the_tenant_had(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None]
) -> None:
    biz_type = make_biz_type("order.close", tenant=acme, auth="basic", auth_secret="user:password", max_attempts=3)
    make_biz_type("order.close", auth="none")  # the default tenant's, which stays at home
    key = issue_key("shop", tenant=acme, biz_type_ids=[biz_type.pk])
    hourly = series.create("order.close", tenant="acme", name="hourly", every=timedelta(hours=1), request=SECRET)
    jobs.create("order.close", tenant="acme", delay=60, biz_id="order-1", body={"ü": 1}, request=SECRET)
    jobs.create("order.close", tenant="acme", delay=90, raw=b"\x00\xff", idempotency_key="once", flow_key="eva")
    dead = store_job(biz_type, Status.DEAD, attempts=3, last_error="HTTP 500", error_class="http.500")
    of_series = store_job(biz_type, series=hourly, occurrence_at=timezone.now() + timedelta(days=3))
    store_job(biz_type, Status.SUCCEEDED)
    jobs.resolve("order.close", "order-9", tenant="acme")
    pause_key(biz_type, "eva", until=timezone.now() + timedelta(hours=1), by=Actor("ada"))
    left = ("biz_type_id", "series_id", "request")
    before = values(Job.objects.model, *left)
    there = {row["id"] for row in before}
    text = exported(acme)

    another_site()
    done = take_in(text)

    taken = values(Job.objects.model, *left)
    assert taken == [row for row in before if row["id"] in {each["id"] for each in taken}]
    assert len(there) - len(taken) == 1  # the one that succeeded
    assert dead.id in there
    assert done.new["job"] == len(taken)
    assert done.refused == 0
    stored = BizType.objects.get()
    assert (stored.label, stored.auth_secret, stored.max_attempts) == ("acme/order.close", "user:password", 3)
    requests = [read_own_request(job.request) for job in Job.objects.exclude(request="")]
    assert {open_sealed(own.sealed["Authorization"]) for own in requests if own.sealed} == {"Bearer mine"}
    assert Job.objects.get(id=of_series.id).series == Series.objects.get(name="hourly")
    row = ApiKey.objects.get()
    assert find_key(key.key) is not None
    assert row.biz_type_ids == [stored.pk]
    assert Tombstone.objects.get().biz_id == "order-9"
    assert stored.has_tombstones
    assert PausedKey.objects.get().flow_key == "eva"
    assert IdempotencyKey.objects.get().key == "once"


def test_the_same_export_is_taken_in_once(acme: Tenant, make_biz_type: MakeBizType) -> None:
    biz_type = make_biz_type("order.close", tenant=acme)
    jobs.create("order.close", tenant="acme", delay=60, idempotency_key="once")
    jobs.resolve("order.close", "order-9", tenant="acme")
    issue_key("shop", tenant=acme)
    text = exported(acme)
    Job.objects.update(last_error="it has gone on since")
    BizType.objects.filter(pk=biz_type.pk).update(max_attempts=7)

    done = take_in(text)

    assert done.new.total() == 0
    assert done.there == {"biz_type": 1, "api_key": 1, "tombstone": 1, "idempotency_key": 1, "job": 1}
    assert done.different == ["order.close"]
    assert Job.objects.get().last_error == "it has gone on since"


def test_a_key_that_comes_back_by_a_name_that_another_has_by_now_is_named(acme: Tenant) -> None:
    row = issue_key("shop", tenant=acme).row
    text = edited(exported(acme), lambda row: row.update(name="till") if row["kind"] == "api_key" else None)
    ApiKey.objects.filter(pk=row.pk).update(moved_to="https://there.example")
    issue_key("till", tenant=acme)

    assert take_in(text).named == ["API key 'till': there is another one of that name, or with that prefix"]


def test_a_job_that_ran_is_tried_again_but_not_where_once_is_the_most(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None]
) -> None:
    again = store_job(make_biz_type("often", tenant=acme), Status.RUNNING, attempts=1, lease_token=7)
    once = store_job(make_biz_type("once", tenant=acme, guarantee="at_most_once"), Status.RUNNING, attempts=1)
    text = exported(acme)
    another_site()

    take_in(text)

    again.refresh_from_db()
    once.refresh_from_db()
    assert (again.status, again.lease_token, again.error_class) == (Status.PENDING, None, "lost")
    assert (once.status, once.finished_at is not None) == (Status.DEAD, True)


def test_what_is_taken_in_is_due_at_its_time(
    acme: Tenant,
    make_biz_type: MakeBizType,
    another_site: Callable[[], None],
    receiver: Receiver,
    lane: TimerLane,
    fire: Fire,
) -> None:
    make_biz_type("order.close", tenant=acme, url=receiver.url())
    made = jobs.create("order.close", tenant="acme", delay=0, body={"order": 42}).job
    text = exported(acme)
    another_site()
    lane.client.flushall()

    take_in(text)

    assert fire() == [str(made.id)]
    assert [call.body for call in receiver.received] == [b'{"order":42}']


def test_new_biz_types_can_wait_until_all_is_there(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None]
) -> None:
    make_biz_type("order.close", tenant=acme)
    text = exported(acme)
    another_site()

    take_in(text, paused=True)

    stored = BizType.objects.get()
    assert stored.is_paused
    assert stored.paused_by == "ada"
    assert AuditEntry.objects.filter(verb="biz_type.add", actor="ada").count() == 1


def test_a_run_that_ended_early_goes_on(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_ROWS", 2)
    make_biz_type("order.close", tenant=acme)
    for _ in range(5):
        jobs.create("order.close", tenant="acme", delay=60)
    text = exported(acme)
    another_site()
    importer = Importer(
        ExportFile(io.BytesIO(text)),
        Tenant.objects.create(code="acme"),
        key=TransferKey(KEY),
        paused=False,
        by=Actor(),
        using="default",
    )
    steps = importer.run()
    for _ in range(2):
        next(steps)
    assert Job.objects.count() == 2

    done = take_in(text)

    assert (done.there["job"], done.new["job"], Job.objects.count()) == (2, 3, 5)


def test_a_job_that_would_be_a_second_live_one_is_left_out_and_named(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None]
) -> None:
    make_biz_type("order.close", tenant=acme, one_live="refuse")
    jobs.create("order.close", tenant="acme", delay=60, biz_id="order-1")
    other = jobs.create("order.close", tenant="acme", delay=60, biz_id="order-2").job
    first = Job.objects.get(biz_id="order-1")
    text = exported(acme)
    Job.objects.filter(id__in=[first.id, other.id]).delete()
    jobs.create("order.close", tenant="acme", delay=60, biz_id="order-1")

    done = take_in(text)

    assert (done.new["job"], done.refused) == (1, 1)
    said = "another live job has its biz id, its debounce key or its place in the series"
    assert done.named == [f"job {first.id}: {said}"]


def test_a_job_of_another_tenant_is_not_touched(acme: Tenant, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", tenant=acme)
    made = jobs.create("order.close", tenant="acme", delay=60).job
    text = exported(acme)

    done = take_in(text, tenant="mallory")

    assert done.named == [f"job {made.id}: a job of another biz type has that id"]
    assert Job.objects.get().biz_type.tenant == acme


@pytest.mark.parametrize(("key", "subject"), [(KEY, "CN=us"), ("", "")], ids=["with", "without"])
def test_a_client_certificate_that_was_left_out_is_not_said_to_be_there(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None], key: str, subject: str
) -> None:
    ends = timezone.now() + timedelta(days=9)
    biz_type = make_biz_type("order.close", tenant=acme, certificate_subject="CN=us", certificate_ends_at=ends)
    biz_type.client_certificate = "its key and it"
    biz_type.save()
    text = exported(acme, key=key)

    another_site()
    take_in(text, key=key)

    stored = BizType.objects.get()
    assert stored.client_certificate == ("its key and it" if key else "")
    assert (stored.certificate_subject, stored.certificate_ends_at) == (subject, ends if key else None)


def test_without_the_key_no_secret_is_read(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None]
) -> None:
    make_biz_type("order.close", tenant=acme, auth="basic", auth_secret="user:password")
    text = exported(acme)
    another_site()

    assert b"user:password" not in text
    with pytest.raises(InvalidExport, match="line 2: it holds secrets: give the key"):
        take_in(text, key="")
    with pytest.raises(InvalidExport, match="another key than that of --key"):
        take_in(text, key=Fernet.generate_key().decode())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"biz_type": "nobody"}, "names the biz type 'nobody'"),
        ({"due_at": "tomorrow"}, "job due_at: 'tomorrow' cannot be"),
        ({"due_at": "2027-01-01T00:00:00"}, "has no time zone"),
        ({"priority": -1}, "job priority: "),
        ({"status": "succeeded"}, "only those that have not ended"),
        ({"status": "asleep"}, "job status: "),
        ({"biz_id": "x" * 201}, "job biz_id: "),
        ({"order_key": "7"}, "no column 'order_key': it is of a later release"),
    ],
)
def test_a_row_that_cannot_be_is_named(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None], wrong: dict[str, Any], said: str
) -> None:
    make_biz_type("order.close", tenant=acme)
    jobs.create("order.close", tenant="acme", delay=60)
    text = edited(exported(acme), lambda record: record.update(wrong if record["kind"] == "job" else {}))
    another_site()

    with pytest.raises(InvalidExport, match=said):
        take_in(text)

    assert not Job.objects.exists()


def test_no_quota_refuses_what_is_imported(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None], settings: Any
) -> None:
    make_biz_type("order.close", tenant=acme)
    series.create("order.close", tenant="acme", name="hourly", every=timedelta(hours=1))
    issue_key("shop", tenant=acme)
    text = exported(acme)
    another_site()
    none = {"TENANT_BIZ_TYPES": 0, "TENANT_SERIES": 0, "TENANT_API_KEYS": 0, "TENANT_PENDING_JOBS": 0}
    settings.DELAYHUB = {**settings.DELAYHUB, **none}

    done = take_in(text)

    assert {kind: done.new[kind] for kind in ("biz_type", "series", "api_key", "job")} == {
        "biz_type": 1, "series": 1, "api_key": 1, "job": 1
    }  # fmt: skip


def test_a_biz_type_that_this_site_does_not_allow_is_refused(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None]
) -> None:
    make_biz_type("order.close", tenant=acme)
    text = edited(exported(acme), lambda each: each.update({"lane": "nowhere"} if each["kind"] == "biz_type" else {}))
    another_site()

    with pytest.raises(InvalidExport, match=r"biz type 'order\.close': lane"):
        take_in(text)


def test_what_is_encrypted_at_rest_is_so_in_the_export_and_there(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None], receiver: Receiver, fire: Fire
) -> None:
    make_biz_type("order.close", tenant=acme, url=receiver.url(), encrypted=True)
    series.create("order.close", tenant="acme", name="hourly", every=timedelta(hours=1), body="secret-0042")
    jobs.create("order.close", tenant="acme", body="secret-0042", request=SECRET)
    jobs.create("order.close", tenant="acme", raw=b"secret-0042", content_type="text/plain")
    text = exported(acme)
    assert b"secret-0042" not in text
    with pytest.raises(InvalidExport, match="without --key"):
        take_in(exported(acme, key=""), tenant="other")

    another_site()
    take_in(text)

    assert {job.is_sealed for job in Job.objects.all()} == {Series.objects.get().is_sealed} == {True}
    assert Series.objects.get().body == '"secret-0042"'
    fire()
    assert sorted(received.body for received in receiver.received) == [b'"secret-0042"', b"secret-0042"]
    assert any("Authorization" in received.headers for received in receiver.received)


def test_a_request_that_is_repeated_there_is_known_by_the_key_that_its_hash_was_made_with(
    acme: Tenant, make_biz_type: MakeBizType, another_site: Callable[[], None], settings: Any
) -> None:
    make_biz_type("card.charge", tenant=acme, encrypted=True)

    def create(body: Any) -> Any:
        return jobs.create("card.charge", tenant="acme", delay=60, idempotency_key="once", body=body).job_id

    first = create({"pin": 1234})
    text = exported(acme)
    another_site()
    make_biz_type("order.close", tenant=Tenant.objects.create(code="other"))
    take_in(text)

    with pytest.raises(KeyTaken, match="cannot be told"):
        create({"pin": 1234})
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [THERE, HERE]}
    assert create({"pin": 1234}) == first
    with pytest.raises(KeyTaken, match="another request"):
        create({"pin": 1235})
