"""Client certificates and bundles as they are saved: what cannot be used is refused then, and told why."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tasksapp.biz_types.certificate import BadPem, bundle_complaint, set_certificate
from tasksapp.biz_types.editing import change
from tasksapp.biz_types.target import own_target, target_of
from tasksapp.delivery.client_tls import ClientTls, context_of
from tasksapp.delivery.own_request import OwnRequest
from tasksapp.errors import InvalidBizType
from tasksapp.models import BizType
from tests.certificates import made

pytestmark = pytest.mark.django_db

AUTHORITY = made("authority")
CLIENT = made("delayhub", by=AUTHORITY)
#: OpenSSL reads it, and does not use it.
WEAK = made("delayhub", key=rsa.generate_private_key(65_537, 1_024))


def test_a_certificate_is_stored_sealed_with_its_key_and_says_whose_it_is(biz_type: BizType) -> None:
    set_certificate(biz_type, certificate=CLIENT.pem + AUTHORITY.pem, private_key=CLIENT.key_pem)

    stored = BizType.objects.get()
    assert stored.client_certificate == CLIENT.key_pem + CLIENT.pem + AUTHORITY.pem
    assert "BEGIN" not in stored.client_certificate_sealed
    assert (stored.certificate_subject, stored.certificate_ends_at) == (
        "CN=delayhub",
        CLIENT.certificate.not_valid_after_utc,
    )
    set_certificate(stored, certificate="", private_key="")
    stored.refresh_from_db()
    assert (stored.client_certificate, stored.certificate_subject, stored.certificate_ends_at) == ("", "", None)


@pytest.mark.parametrize(
    ("certificate", "private_key", "name", "sentence"),
    [
        (CLIENT.pem, AUTHORITY.key_pem, "private_key", "not that of the certificate"),
        (CLIENT.pem, CLIENT.encrypted_key_pem, "private_key", "is encrypted"),
        (CLIENT.pem, "hush", "private_key", "no private key"),
        (CLIENT.pem, "", "private_key", "no private key"),
        (CLIENT.pem, CLIENT.pem, "private_key", "no private key"),
        ("hush", CLIENT.key_pem, "certificate", "no certificates"),
        ("", CLIENT.key_pem, "certificate", "no certificates"),
        (CLIENT.pem.replace("M", "N"), CLIENT.key_pem, "certificate", "no certificates"),
        (CLIENT.pem * 200, CLIENT.key_pem, "certificate", "may have 65536 characters"),
        (WEAK.pem, WEAK.key_pem, "certificate", "too weak"),
    ],
)
def test_what_receivers_could_not_be_shown_is_refused(
    biz_type: BizType, certificate: str, private_key: str, name: str, sentence: str
) -> None:
    with pytest.raises(BadPem) as raised:
        set_certificate(biz_type, certificate=certificate, private_key=private_key)

    assert raised.value.name == name
    assert sentence in raised.value.message
    assert "hush" not in raised.value.message
    assert not BizType.objects.get().client_certificate_sealed


@pytest.mark.parametrize("days", [{"begins": -9, "days": -1}, {"begins": 1}])
def test_a_certificate_that_does_not_hold_now_is_refused(biz_type: BizType, days: Any) -> None:
    other = made("delayhub", by=AUTHORITY, **days)

    with pytest.raises(BadPem, match="not now"):
        set_certificate(biz_type, certificate=other.pem, private_key=other.key_pem)


def test_a_bundle_holds_certificates() -> None:
    assert bundle_complaint("") is None
    assert bundle_complaint(AUTHORITY.pem + CLIENT.pem) is None
    assert bundle_complaint("hush") is not None
    assert "65536" in (bundle_complaint(AUTHORITY.pem * 200) or "")


def test_a_bundle_may_say_in_any_language_whose_certificates_it_holds() -> None:
    bundle = f"# Főtanúsítvány\n{AUTHORITY.pem}"

    assert bundle_complaint(bundle) is None
    assert context_of(ClientTls("", bundle)).cert_store_stats()["x509"] == 1


def test_a_job_that_leads_to_another_host_brings_neither_there(biz_type: BizType) -> None:
    set_certificate(biz_type, certificate=CLIENT.pem, private_key=CLIENT.key_pem)
    biz_type.ca_bundle = AUTHORITY.pem
    target = target_of(biz_type, now=CLIENT.certificate.not_valid_before_utc)

    same = own_target(target, OwnRequest(timeout_seconds=1).text(), hosts="")
    other = own_target(target, OwnRequest(url="https://other.example/").text(), hosts="other.example")

    assert same.tls is target.tls is not None
    assert other.tls is None


def test_a_certificate_is_for_the_host_that_it_was_set_for(biz_type: BizType) -> None:
    set_certificate(biz_type, certificate=CLIENT.pem, private_key=CLIENT.key_pem)
    change(BizType.objects.get(), {"url": f"{biz_type.url}/more"})

    with pytest.raises(InvalidBizType, match="delete it first"):
        change(BizType.objects.get(), {"url": "https://elsewhere.example/"})

    set_certificate(BizType.objects.get(), certificate="", private_key="")
    assert change(BizType.objects.get(), {"url": "https://elsewhere.example/"}) == {"url"}
