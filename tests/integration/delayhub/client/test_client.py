"""The clients on a live site: the ready-made project's web server, with a database and without workers.

Each test of ``Client`` runs once more over the TypeScript client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from delayhub.client import (
    AsyncClient,
    Client,
    InvalidRequest,
    NotFound,
    PreconditionFailed,
    Unauthorized,
    Unreachable,
    WaitTimeout,
    WrongState,
    answer,
)
from delayhub.errors import OptionError
from delayhub.local.redis_server import free_port
from tests.tcp_proxy import TcpProxy
from tests.web_server import BIZ_TYPE, KEY

DUE = datetime(2099, 1, 31, 8, 30, tzinfo=UTC)


@pytest.fixture
def api(port: int, over: str) -> Iterator[Client]:
    with Client(f"http://127.0.0.1:{port}", api_key=KEY) as client:
        yield client


def test_a_job_from_its_creation_to_its_end(api: Client) -> None:
    made = api.jobs.create(BIZ_TYPE, biz_id="order-42", due_at=DUE, body={"order": 42})
    moved = api.jobs.change(made.id, due_at=DUE.replace(year=2100), version=made.version)

    assert (made.created, made.status, made.due_at, made.body) == (True, "pending", DUE, {"order": 42})
    assert moved.due_at.year == 2100
    assert api.jobs.read((BIZ_TYPE, "order-42")) == moved
    with pytest.raises(PreconditionFailed) as stale:
        api.jobs.cancel(made.id, version=made.version)
    assert stale.value.version == moved.version
    with pytest.raises(WaitTimeout):
        api.jobs.wait(made.id, timeout_seconds=0.1)
    assert api.jobs.cancel((BIZ_TYPE, "order-42")).status == "cancelled"
    assert api.jobs.wait(made.id, timeout_seconds=0.1).has_ended
    with pytest.raises(WrongState) as ended:
        api.jobs.cancel(made.id)
    assert ended.value.state == "cancelled"
    assert list(api.jobs.attempts(made.id)) == []


def test_a_lost_answer_makes_one_job(port: int, over: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "FIRST_PAUSE", 0.001)
    with TcpProxy(port) as proxy, Client(f"http://127.0.0.1:{proxy.port}", api_key=KEY, retries=20) as api:
        proxy.lose_replies(0.5)

        made = [api.jobs.create(BIZ_TYPE, biz_id=f"lost-{over}-{number}", due_at=DUE) for number in range(10)]
        results = api.jobs.create_many(
            {"biz_type": BIZ_TYPE, "biz_id": f"lost-{over}", "due_at": DUE} for _ in range(3)
        )

        proxy.lose_replies(0)
        assert proxy.lost_replies > 0
        for number, job in enumerate(made):
            assert [found.id for found in api.jobs.list(biz_id=f"lost-{over}-{number}")] == [job.id]
        assert {found.id for found in api.jobs.list(biz_id=f"lost-{over}")} == {result.id for result in results}


def test_each_refusal_is_an_exception_of_its_own(api: Client, port: int) -> None:
    with pytest.raises(InvalidRequest, match=r"there is no biz type 'no\.such'") as invalid:
        api.jobs.create("no.such")
    with pytest.raises(NotFound):
        api.jobs.read("00000000-0000-0000-0000-000000000000")
    with pytest.raises(Unauthorized), Client(f"http://127.0.0.1:{port}", api_key="dh_wrong") as stranger:
        stranger.biz_types.list()
    with pytest.raises(Unreachable), Client(f"http://127.0.0.1:{free_port()}", api_key=KEY, retries=1) as nowhere:
        nowhere.biz_types.list()

    assert [error.field for error in invalid.value.errors] == ["biz_type"]


def test_a_bulk_has_a_result_for_each_job(api: Client) -> None:
    results = api.jobs.create_many(
        [{"biz_type": BIZ_TYPE, "due_at": DUE}, {"biz_type": "no.such"}, {"biz_type": BIZ_TYPE, "priority": 77}]
    )

    assert [result.created for result in results] == [True, False, False]
    assert [result.error.errors[0].field for result in results if result.error] == ["biz_type", "priority"]


def test_exact_bytes_come_back_as_they_were_given(api: Client) -> None:
    raw = bytes(range(256))
    made = api.jobs.create(BIZ_TYPE, due_at=DUE, raw=raw, content_type="image/png")
    text = api.jobs.change(made.id, raw=b"<a/>\r\n", content_type="text/xml")
    (many,) = api.jobs.create_many([{"biz_type": BIZ_TYPE, "due_at": DUE, "raw": raw}])

    assert (made.raw, made.body, made.content_type) == (raw, None, "image/png")
    assert (text.raw, text.body_text, text.content_type) == (b"<a/>\r\n", "<a/>\r\n", "text/xml")
    assert api.jobs.read(many.id or "").raw == raw
    assert api.jobs.create(BIZ_TYPE, due_at=DUE, body=1).raw is None
    with pytest.raises(OptionError, match="raw must be bytes"):
        api.jobs.create(BIZ_TYPE, raw="text")  # type: ignore[arg-type]  # what a caller may try


def test_a_flow_key_is_paused_and_resumed(api: Client, over: str) -> None:
    job = api.jobs.create(BIZ_TYPE, due_at=DUE, flow_key=over)

    paused = api.biz_types.pause_flow_key(BIZ_TYPE, over, reason="its receiver is down")
    resumed = api.biz_types.resume_flow_key(BIZ_TYPE, over)

    assert [found.id for found in api.jobs.list(biz_type=BIZ_TYPE, flow_key=over)] == [job.id]
    assert paused.paused_until is not None
    assert resumed.paused_until is None


def test_an_operation_from_plan_to_stop(api: Client) -> None:
    api.jobs.create(BIZ_TYPE, biz_id="many-1", due_at=DUE)

    planned = api.operations.plan("cancel", jobs={"status": "pending", "biz_id": "many-*"}, reason="a test")
    with pytest.raises(WaitTimeout, match="is planning after"):  # no worker is there to count its jobs
        api.operations.wait_until_planned(planned.id, timeout_seconds=0.1)
    with pytest.raises(WrongState):
        api.operations.start(planned.id, rate_per_second=1)
    stopped = api.operations.stop(planned.id, reason="enough")

    with pytest.raises(WrongState, match="ended before its jobs were counted"):
        api.operations.rest(planned.id)
    assert api.operations.wait(planned.id).state == stopped.state == "stopped"
    assert planned.id in [operation.id for operation in api.operations.list(state="stopped")]


def test_the_asynchronous_client_does_the_same(port: int) -> None:
    async def use() -> list[str]:
        async with AsyncClient(f"http://127.0.0.1:{port}", api_key=KEY) as api:
            made = await asyncio.gather(
                *(api.jobs.create(BIZ_TYPE, biz_id="async", due_at=DUE) for _ in range(5)),
            )
            listed = [job.id async for job in api.jobs.list(biz_id="async", page_size=2)]
            assert sorted(listed) == sorted(job.id for job in made)
            cancelled = [await api.jobs.cancel(job_id) for job_id in listed]
            assert await api.jobs.wait(listed[0]) == cancelled[0]
            return [job.status for job in cancelled]

    assert asyncio.run(use()) == ["cancelled"] * 5
