"""One callback at a time, against receivers that misbehave in every way we know."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from delayhub.local.redis_server import free_port
from delayhub.receiver import Verifier
from delayhub.webhooks.public_key import new_private_key, public_key_of
from delayhub.webhooks.signature import new_secret
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.outcomes import CallbackResult, Delivered, GiveUp, Retry
from tests.callbacks import callback
from tests.integration.tasksapp.delivery.raw_receiver import (
    answering,
    failed,
    listening,
    noting,
    outcome_of,
    read_request,
    sending,
)


def test_a_receiver_that_never_answers_is_given_up_after_the_timeout() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    result = outcome_of(hang, timeout_seconds=1)

    assert (failed(result).reason, failed(result).kind) == ("no whole answer within 1 s", "timeout")
    assert not failed(result).unsent
    assert 990 <= result.duration_ms < 20_000


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 ", b"HTTP/1.1 100 Continue\r\nX: "])
def test_a_receiver_that_drips_is_given_up_after_the_timeout(head: bytes) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(0.02)

    result = outcome_of(drip, timeout_seconds=1)

    assert failed(result).reason == "no whole answer within 1 s"
    assert result.duration_ms < 20_000


def test_the_request_is_kept_as_it_was_sent_without_its_secrets() -> None:
    received: list[bytes] = []

    secret = "whsec_" + "c2VjcmV0" * 4
    result = outcome_of(
        noting(received), authorization="Bearer t0ken", secrets=(secret,), headers=(("X-Team", "blue"),)
    )

    assert result.request is not None
    assert result.request.line.startswith("POST http://127.0.0.1:")
    sent = dict(line.split(": ", 1) for line in received[0].decode().split("\r\n\r\n")[0].split("\r\n")[1:])
    hidden = {"Authorization": "Bearer (hidden)", "webhook-signature": "(hidden)"}
    assert result.request.headers == {**sent, **hidden}


def test_a_private_key_signs_beside_the_secret_in_one_header() -> None:
    secret, keys = new_secret(), (new_private_key(), new_private_key())
    for secrets in ((secret,), ()):
        received: list[bytes] = []

        outcome_of(noting(received), secrets=secrets, private_keys=keys)

        head, body = received[0].split(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        versions = [signature.split(",")[0] for signature in headers["webhook-signature"].split(" ")]
        assert versions == ["v1"] * len(secrets) + ["v1a"] * 2
        for key in (*secrets, *map(public_key_of, keys)):
            assert Verifier(key).verify(headers, body).id == "job-1"


def test_an_endless_body_is_read_up_to_the_cap() -> None:
    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    result = outcome_of(pour)

    assert result.outcome == Delivered()
    assert result.response is not None
    assert result.response.body == "x" * 100


def test_a_gzip_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    head = b"HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)

    result = outcome_of(answering(head + bomb))

    assert failed(result).reason == "status 500"
    assert result.response is not None
    assert len(result.response.body) <= 100


@pytest.mark.parametrize(
    "response",
    [
        # no response at all
        b"",
        b"\r\n",
        # not HTTP
        b"SSH-2.0-OpenSSH_9.2\r\n",
        # HTTP/0.9: a body, and nothing before it
        b"<html>\nhello\n</html>\n",
        b"\x00\xff\x00\xff\r\n\r\n",
        # cut off in the middle
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK",
        # a status that cannot be
        b"HTTP/1.1 999999 What\r\n\r\n",
    ],
)
def test_an_answer_that_is_none_is_a_failed_attempt(response: bytes) -> None:
    result = failed(outcome_of(answering(response)))
    assert not result.unsent
    assert result.kind in ("reset", "protocol")
    assert len(result.reason.splitlines()) == 1


def test_informational_answers_are_passed_over() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"

    assert outcome_of(answering(early * 3 + b"HTTP/1.1 204 No Content\r\n\r\n")).outcome == Delivered()


def test_informational_answers_without_end_are_given_up() -> None:
    async def hint(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    assert failed(outcome_of(hint, timeout_seconds=1)).reason == "no whole answer within 1 s"


def test_what_a_database_cannot_take_is_taken_out_of_an_answer() -> None:
    response = b"HTTP/1.1 500 No\r\nX-Odd: \xff\xfe\r\nContent-Length: 5\r\n\r\na\x00b\xff!"

    result = outcome_of(answering(response))

    assert result.response is not None
    assert "\x00" not in result.response.body
    result.response.body.encode()
    result.response.headers["X-Odd"].encode()


def test_a_refused_connection_is_proved_unsent() -> None:
    async def run() -> CallbackResult:
        async with sending() as sender:
            return await sender.send(callback(f"http://127.0.0.1:{free_port()}/"))

    refused = failed(asyncio.run(run()))
    assert (refused.unsent, refused.kind) == (True, "refused")


def test_a_name_that_does_not_resolve_is_proved_unsent() -> None:
    async def run() -> CallbackResult:
        async with sending() as sender:
            return await sender.send(callback("http://nobody.invalid/"))

    unknown = failed(asyncio.run(run()))
    assert (unknown.unsent, unknown.kind) == (True, "dns")


def test_a_name_that_leads_to_a_private_address_is_not_dialled() -> None:
    calls = 0

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1

    async def run() -> list[CallbackResult]:
        async with listening(count) as port, sending(allowed=()) as sender:
            # By name, by address, and in the spellings that get past a check of the URL only.
            hosts = ("localhost", "127.0.0.1", "127.1", "2130706433", "[::ffff:127.0.0.1]")
            return [await sender.send(callback(f"http://{host}:{port}/")) for host in hosts]

    results = asyncio.run(run())

    by_spelling = [Retry, GiveUp, GiveUp, GiveUp, GiveUp]
    assert [type(result.outcome) for result in results] == by_spelling
    assert {result.outcome.kind for result in results} == {"address"}  # type: ignore[union-attr]  # all have failed
    assert all(failed(result).unsent for result in results if isinstance(result.outcome, Retry))
    assert calls == 0


def test_a_name_that_is_rebound_after_it_was_checked_is_still_not_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["8.8.8.8", "127.0.0.1"])

    def resolve(host: str, port: int, *_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    async def run() -> CallbackResult:
        # The first look-up, as a check of the form would do it, sees a public address.
        AddressGuard().check(str(socket.getaddrinfo("rebind.example", 80)[0][4][0]))
        async with sending(allowed=()) as sender:
            return await sender.send(callback("http://rebind.example/"))

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    outcome = asyncio.run(run()).outcome

    assert isinstance(outcome, Retry)
    assert "callbacks may not go to rebind.example" in outcome.reason
    assert "127.0.0.1" not in outcome.reason


def answers_of_dns(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Each name leads to those addresses."""

    def resolve(host: str, port: int, *_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


@pytest.mark.parametrize("addresses", [("10.1.2.3", "127.0.0.1"), ("127.0.0.1", "10.1.2.3")])
def test_of_a_name_with_a_refused_and_an_allowed_address_the_allowed_one_is_dialled(
    addresses: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> tuple[CallbackResult, CallbackResult]:
        answer = answering(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        async with listening(answer) as port, sending() as sender:
            delivered = await sender.send(callback(f"http://both.example:{port}/"))
        async with sending() as sender:
            return delivered, await sender.send(callback(f"http://both.example:{free_port()}/"))

    answers_of_dns(monkeypatch, *addresses)
    there, away = asyncio.run(run())

    assert there.outcome == Delivered()
    # The refused address does not make it dead while the allowed one is away, and no address is named.
    assert failed(away).unsent
    assert "both.example" in failed(away).reason
    assert not any(address in failed(away).reason for address in addresses)


def test_a_name_whose_addresses_are_all_refused_is_tried_again_without_naming_them(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> CallbackResult:
        async with sending(allowed=()) as sender:
            return await sender.send(callback("http://inside.example/"))

    answers_of_dns(monkeypatch, "10.1.2.3", "127.0.0.1")
    outcome = asyncio.run(run()).outcome

    reason = "callbacks may not go to inside.example: it has no public address, and none in ALLOWED_NETWORKS"
    assert outcome == Retry(reason, unsent=True, kind="address")
    assert vars(caplog.records[0])["addresses"] == ["10.1.2.3", "127.0.0.1"]


def test_cookies_redirects_and_proxies_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    heads: list[bytes] = []

    async def tempt(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_request(reader))
        writer.write(b"HTTP/1.1 307 Go\r\nLocation: /elsewhere\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")

    async def run() -> list[CallbackResult]:
        async with listening(tempt) as port, sending() as sender:
            one = callback(f"http://127.0.0.1:{port}/")
            return [await sender.send(one), await sender.send(one)]

    results = asyncio.run(run())

    assert [failed(result).reason for result in results] == ["status 307: redirects are not followed"] * 2
    assert len(heads) == 2
    assert not any(b"cookie" in head.lower() for head in heads)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate of another host, and its key in one file."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    key = path.with_name("key.pem")
    subject = ["-days", "2", "-subj", "/CN=other.example", "-keyout", str(key), "-out", str(path)]
    subprocess.run([*command, *subject], check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


def test_a_certificate_that_cannot_be_trusted_ends_it_before_a_byte_is_sent(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    requests = 0

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        await read_request(reader)
        requests += 1

    async def run() -> CallbackResult:
        async with listening(count, ssl=context) as port, sending() as sender:
            return await sender.send(callback(f"https://127.0.0.1:{port}/"))

    retry = failed(asyncio.run(run()))

    assert retry.unsent
    assert "certificate" in retry.reason.lower()
    assert requests == 0


def test_a_trusted_certificate_of_another_host_ends_it_too(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr("aiohttp.connector._SSL_CONTEXT_VERIFIED", trusting)

    async def run() -> CallbackResult:
        async with listening(answering(b"HTTP/1.1 204 No Content\r\n\r\n"), ssl=context) as port, sending() as sender:
            return await sender.send(callback(f"https://127.0.0.1:{port}/"))

    retry = failed(asyncio.run(run()))

    assert retry.unsent
    assert "mismatch" in retry.reason.lower()


def test_a_receiver_that_speaks_no_tls_is_a_failed_attempt() -> None:
    async def run() -> CallbackResult:
        async with listening(answering(b"HTTP/1.1 400 Bad\r\n\r\n")) as port, sending() as sender:
            return await sender.send(callback(f"https://127.0.0.1:{port}/"))

    assert failed(asyncio.run(run())).unsent
