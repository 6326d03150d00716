"""One signed callback (``send_single``) that a person sends to try a receiver, against real servers, good and bad."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from delayhub.local.redis_server import free_port
from delayhub.webhooks.signature import sign
from tasksapp.biz_types import sample_call
from tasksapp.biz_types.sample_call import AddressVerdict, Busy, SampleAnswer, Verdict, send_sample
from tasksapp.delivery.sent_request import MASK
from tasksapp.models import UNTIL_RESUMED, BizType, Job
from tests.integration.tasksapp.receiver import Receiver, answering
from tests.integration.tasksapp.token_server import bearers, giving, slowly
from tests.integration.tasksapp.token_server import silent as no_token

BODY = '{"order": 42}'
SECRET = "whsec_" + "c2VjcmV0" * 4


def biz_type(url: str, **fields: Any) -> BizType:
    made = BizType(code="order.close", url=url, **fields)
    made.signing_secret = SECRET
    return made


def sent(url: str, **fields: Any) -> SampleAnswer:
    return send_sample(biz_type(url, **fields), body=BODY)


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_the_receiver_gets_a_signed_callback_that_says_it_is_a_test(receiver: Receiver) -> None:
    answer = sent(receiver.url(), headers={"X-Team": "orders"})

    (got,) = receiver.received
    headers = {name.lower(): value for name, value in got.headers.items()}
    assert got.body == BODY.encode()
    assert headers["delayhub-test"] == "1"
    assert headers["x-team"] == "orders"
    message = {"message_id": headers["webhook-id"], "timestamp": int(headers["webhook-timestamp"])}
    assert headers["webhook-signature"] == sign([SECRET], body=got.body, **message)
    assert (answer.verdict, answer.status_code, answer.address) == (Verdict.SUCCEEDS, 204, AddressVerdict.ALLOWED)
    assert answer.reason == ""
    assert answer.is_sent


def test_the_request_that_is_shown_is_the_one_that_came_but_for_its_credentials(receiver: Receiver) -> None:
    made = biz_type(receiver.url("/a?b=c"), auth="bearer")
    made.auth_secret = "shop-token"

    answer = send_sample(made, body=BODY)

    assert answer.request is not None
    assert answer.request.line == f"POST {receiver.url('/a?b=c')}"
    (got,) = receiver.received
    assert got.headers["Authorization"] == "Bearer shop-token"
    shown, came = dict(answer.request.headers), dict(got.headers)
    assert shown.pop("Authorization") == f"Bearer {MASK}"
    assert shown.pop("webhook-signature") == MASK
    assert shown == {name: came[name] for name in came.keys() - {"Authorization", "webhook-signature"}}
    assert "shop-token" not in repr(answer)


@pytest.mark.django_db
def test_no_job_is_made(receiver: Receiver) -> None:
    sent(receiver.url())

    assert not Job.objects.exists()


@pytest.mark.parametrize("held", [{"enabled": False}, {"paused_until": UNTIL_RESUMED}])
def test_it_is_sent_while_the_biz_type_is_disabled_or_paused(receiver: Receiver, held: dict[str, Any]) -> None:
    assert sent(receiver.url(), **held).verdict is Verdict.SUCCEEDS


def test_it_is_sent_while_redis_is_away(receiver: Receiver, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}

    assert sent(receiver.url()).verdict is Verdict.SUCCEEDS


@pytest.mark.parametrize(
    ("status", "fields", "verdict", "reason"),
    [
        (500, {}, Verdict.TRIED_AGAIN, "status 500"),
        (302, {}, Verdict.TRIED_AGAIN, "status 302: redirects are not followed"),
        (410, {}, Verdict.DEAD, "status 410"),
        (404, {"permanent_status_codes": [404]}, Verdict.DEAD, "status 404"),
    ],
)
def test_an_answer_is_judged_as_that_to_a_job(
    receiver: Receiver, status: int, fields: dict[str, Any], verdict: Verdict, reason: str
) -> None:
    receiver.answer = answering(status, X_Trace="abc")

    answer = sent(receiver.url(), **fields)

    assert (answer.verdict, answer.reason, answer.status_code) == (verdict, reason, status)
    assert answer.response_headers["X-Trace"] == "abc"
    assert answer.response_body == "the answer"


def test_an_answer_may_ask_to_cancel_other_jobs_and_nothing_is_cancelled(receiver: Receiver) -> None:
    receiver.answer = answering(200, DelayHub_Action="cancel-others")

    assert sent(receiver.url()).cancels_others


def test_a_refused_connection_is_told_from_a_silent_receiver(silent: int) -> None:
    refused = sent(f"http://127.0.0.1:{free_port()}/")
    slow = sent(f"http://127.0.0.1:{silent}/", timeout_seconds=2)

    assert "Connection refused" in refused.reason
    assert not refused.is_sent
    assert slow.reason == "no whole answer within 2 s"
    assert slow.is_sent
    assert {refused.verdict, slow.verdict} == {Verdict.TRIED_AGAIN}


def test_a_long_timeout_is_cut_short(silent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_call, "LONGEST_SECONDS", 0.2)

    answer = sent(f"http://127.0.0.1:{silent}/", timeout_seconds=600)

    assert answer.timeout_seconds == 0.2
    assert answer.duration_ms < 60_000


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[::1]"])
def test_an_address_that_no_callback_may_go_to_is_refused(host: str) -> None:
    answer = sent(f"http://{host}:1/")

    assert (answer.verdict, answer.address) == (Verdict.DEAD, AddressVerdict.REFUSED)
    assert "callbacks may not go to" in answer.reason
    assert not answer.is_sent


def test_a_name_that_leads_to_a_private_address_is_refused(receiver: Receiver, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "ALLOWED_NETWORKS": []}

    answer = sent(f"http://localhost:{receiver.port}/")

    assert answer.address is AddressVerdict.REFUSED
    assert not receiver.received


def test_a_name_without_an_address_is_no_verdict() -> None:
    answer = sent("http://receiver.invalid/", timeout_seconds=5)

    assert (answer.verdict, answer.address) == (Verdict.TRIED_AGAIN, AddressVerdict.UNKNOWN)
    assert not answer.is_sent


def test_a_certificate_that_cannot_be_trusted_is_named(tmp_path: Path) -> None:
    certificate = tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    subject = ["-days", "2", "-subj", "/CN=other.example", "-keyout", str(tmp_path / "key.pem")]
    subprocess.run([*command, *subject, "-out", str(certificate)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, tmp_path / "key.pem")

    async def run() -> SampleAnswer:
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0, ssl=context)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await asyncio.to_thread(sent, f"https://127.0.0.1:{port}/")

    answer = asyncio.run(run())

    assert "certificate" in answer.reason.lower()
    assert (answer.verdict, answer.is_sent) == (Verdict.TRIED_AGAIN, False)


def test_a_stored_header_that_cannot_be_sent_is_a_fault_of_ours(receiver: Receiver) -> None:
    answer = sent(receiver.url(), headers={"X-A": "a\r\nb"})

    assert (answer.verdict, answer.request) == (Verdict.NOT_SENT, None)
    assert not receiver.received


def test_it_can_be_sent_where_an_event_loop_runs(receiver: Receiver) -> None:
    async def run() -> SampleAnswer:
        return sent(receiver.url())

    assert asyncio.run(run()).verdict is Verdict.SUCCEEDS


def test_slow_receivers_take_no_more_threads_than_two(receiver: Receiver) -> None:
    answer_now = threading.Event()

    async def wait(_request: web.Request) -> web.StreamResponse:
        await asyncio.to_thread(answer_now.wait, 20)
        return web.Response(status=204)

    receiver.answer = wait
    with ThreadPoolExecutor(2) as threads:
        open_calls = [threads.submit(sent, receiver.url()) for _ in range(2)]
        receiver.wait_for(2)

        with pytest.raises(Busy):
            sent(receiver.url())

        answer_now.set()
        assert [call.result().verdict for call in open_calls] == [Verdict.SUCCEEDS] * 2
    assert sent(receiver.url()).verdict is Verdict.SUCCEEDS


def test_a_sample_carries_an_access_token_or_says_why_there_is_none(receiver: Receiver, redis_client: Any) -> None:
    with Receiver(answer=answering(503)) as server:
        fields = {"auth": "oauth2", "auth_secret": "hush", "token_url": server.url(), "client_id": "us"}
        without = sent(receiver.url(), **fields)
        server.answer = giving()
        answer = sent(receiver.url(), **fields)
        again = sent(receiver.url(), **fields)

    assert (without.verdict, without.is_sent) == (Verdict.NOT_SENT, False)
    assert without.reason == f"no access token from 127.0.0.1:{server.port}: status 503"
    assert (answer.verdict, again.verdict) == (Verdict.SUCCEEDS, Verdict.SUCCEEDS)
    assert bearers(receiver) == ["token-1"] * 2
    assert answer.request is not None
    assert answer.request.headers["Authorization"] == f"Bearer {MASK}"


def test_the_token_and_the_answer_take_no_longer_than_a_sample_may(
    receiver: Receiver, redis_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_call, "LONGEST_SECONDS", 1.0)
    with Receiver(answer=no_token) as server:
        fields = {"auth": "oauth2", "auth_secret": "hush", "token_url": server.url(), "client_id": "us"}
        began = time.monotonic()
        without = sent(receiver.url(), **fields)
        took = time.monotonic() - began
        server.answer, receiver.answer = slowly(giving(), seconds=0.6), slowly(answering(204), seconds=0.9)
        late = sent(receiver.url(), **fields)

    assert took < 8  # the token server had ten seconds
    assert (without.verdict, without.is_sent) == (Verdict.NOT_SENT, False)
    assert without.reason == "no access token within 1 s"
    assert (late.verdict, late.is_sent) == (Verdict.TRIED_AGAIN, True)
    assert late.reason == "no whole answer within 1 s, the access token among them"
