"""Receivers that ask for a certificate, and receivers that only an own bundle vouches for."""

from __future__ import annotations

import asyncio
import os
import ssl
from pathlib import Path
from typing import Any

import pytest

from tasksapp.delivery import client_tls
from tasksapp.delivery.client_tls import BadCertificate, ClientTls, context_of
from tasksapp.delivery.outcomes import CallbackResult, Delivered, Returned
from tests.callbacks import callback
from tests.certificates import made, server_context
from tests.integration.tasksapp.delivery.raw_receiver import failed, sending
from tests.integration.tasksapp.delivery.tls_receiver import tls_receiver

AUTHORITY = made("authority")
SERVER = made("receiver", by=AUTHORITY)
CLIENT = made("delayhub", by=AUTHORITY)
TLS = ClientTls(CLIENT.key_pem + CLIENT.pem, AUTHORITY.pem)


def results(*tls: ClientTls | None, folder: Path, asks: bool = True, version: Any = None) -> list[CallbackResult]:
    """What becomes of one callback after the other, with these, over one sender."""
    context = server_context(SERVER, folder=folder, asks_for=AUTHORITY if asks else None)
    if version is not None:
        context.maximum_version = version

    async def run(port: int) -> list[CallbackResult]:
        async with sending() as sender:
            targets = [callback(f"https://127.0.0.1:{port}/", tls=one) for one in tls]
            return [await sender.send(one) for one in targets]

    with tls_receiver(context) as port:
        return asyncio.run(run(port))


def said(result: CallbackResult) -> str:
    assert result.response is not None, result.outcome
    return result.response.body


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_receiver_that_asks_for_a_certificate_gets_it_and_refuses_who_has_none(tmp_path: Path, version: Any) -> None:
    good, without = results(TLS, ClientTls("", AUTHORITY.pem), folder=tmp_path, version=version)

    assert (good.outcome, said(good)) == (Delivered(), "delayhub")
    assert failed(without).reason.endswith("the receiver asks for a client certificate")
    assert failed(without).kind == "tls"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_certificate_that_the_receiver_does_not_know_is_refused(tmp_path: Path, version: Any) -> None:
    other = made("someone", by=made("another authority"))

    (refused,) = results(ClientTls(other.key_pem + other.pem, AUTHORITY.pem), folder=tmp_path, version=version)

    assert (failed(refused).reason, failed(refused).kind) == ("the receiver refused the client certificate", "tls")


def test_only_those_of_an_own_bundle_may_vouch_for_the_receiver(tmp_path: Path) -> None:
    stranger = ClientTls("", made("another authority").pem)

    good, unknown, usual = results(ClientTls("", AUTHORITY.pem), stranger, None, folder=tmp_path, asks=False)

    assert said(good) == "nobody"
    assert failed(unknown).kind == failed(usual).kind == "tls"
    assert failed(unknown).reason == "the receiver's certificate is not trusted: unable to get local issuer certificate"


def test_a_changed_certificate_never_rides_on_a_connection_of_the_one_before(tmp_path: Path) -> None:
    later = made("later", by=AUTHORITY)
    changed = ClientTls(later.key_pem + later.pem, AUTHORITY.pem)

    found = results(TLS, TLS, changed, TLS, changed, folder=tmp_path)

    assert [said(result) for result in found] == ["delayhub", "delayhub", "later", "delayhub", "later"]


def test_the_same_certificate_has_one_context_whoever_has_it() -> None:
    again = ClientTls(TLS.identity, TLS.ca_bundle)

    assert context_of(again) is context_of(TLS)
    assert context_of(ClientTls("", TLS.ca_bundle)) is not context_of(TLS)
    assert CLIENT.key_pem not in repr(TLS)


@pytest.mark.parametrize("has_memory_files", [True, False])
def test_no_file_keeps_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_memory_files: bool) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if not has_memory_files:
        monkeypatch.delattr(os, "memfd_create")
    open_before = len(list(Path("/proc/self/fd").iterdir()))

    client_tls.context_of.__wrapped__(TLS)

    assert list(tmp_path.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


@pytest.mark.parametrize(
    "tls",
    [
        ClientTls(CLIENT.key_pem + SERVER.pem, ""),
        ClientTls(CLIENT.encrypted_key_pem + CLIENT.pem, ""),
        ClientTls("hush", ""),
        ClientTls("", "hush"),
    ],
)
def test_what_cannot_be_used_is_a_fault_of_ours_that_repeats_nothing(tmp_path: Path, tls: ClientTls) -> None:
    with pytest.raises(BadCertificate) as raised:
        context_of(tls)
    (result,) = results(tls, folder=tmp_path)

    assert "hush" not in str(raised.value)
    assert result.outcome == Returned(f"system: {raised.value}", after_seconds=60, is_fault=True)
