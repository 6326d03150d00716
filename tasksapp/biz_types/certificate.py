"""The certificate that a biz type shows its receiver, and the bundle of those whom it trusts: as they are saved."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.access.actors import Actor
from tasksapp.biz_types import verbs
from tasksapp.biz_types.token_request import origin_of
from tasksapp.delivery.client_tls import BadCertificate, ClientTls, made_context
from tasksapp.models import BizType

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

#: Characters of a certificate with its chain, of a private key, and of a bundle.
LONGEST_PEM = 65_536


class BadPem(ValueError):
    """The text cannot be used as what it was given for; the message says why, and repeats nothing of it.

    Args:
        name: which one: ``certificate``, ``private_key`` or ``ca_bundle``.
        message: why.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name, self.message = name, message


class _Identity(NamedTuple):
    """A certificate and its key; by itself, none.

    Args:
        pem: both, the key first.
        subject: the certificate's subject.
        ends_at: when the certificate ends.
    """

    pem: str = ""
    subject: str = ""
    ends_at: datetime | None = None


def set_certificate(biz_type: BizType, *, certificate: str, private_key: str, by: Actor | None = None) -> None:
    """Shows receivers that certificate from now on; none where both are ''.

    Args:
        biz_type: as it is stored, and locked.
        certificate: it and those that vouch for it, in PEM.
        private_key: its key, in PEM, not encrypted.
        by: who does it, for the audit.

    Raises BadPem, and DatabaseError where the biz type was deleted meanwhile.
    """
    identity = _read(certificate, private_key) if certificate or private_key else _Identity()
    biz_type.client_certificate = identity.pem
    biz_type.certificate_subject = identity.subject
    biz_type.certificate_ends_at = identity.ends_at
    changed = ["client_certificate_sealed", "certificate_subject", "certificate_ends_at"]
    verbs.edit(biz_type, changed, by=by)


def certificate_complaint(before: BizType, after: BizType) -> str | None:
    """Why the stored client certificate may not be shown by the edited biz type; None where it may be, or none is.

    Otherwise a person who may edit a biz type could send requests with its certificate to other hosts.
    """
    if not before.client_certificate_sealed or origin_of(before.url) == origin_of(after.url):
        return None
    return _(
        "The address leads to another host, port or scheme, and the client certificate is for the one before: delete it"
        " first, and set it again for this one."
    )


def bundle_complaint(bundle: str) -> str | None:
    """Why nobody can vouch for receivers by that bundle; None where somebody can, or where it is ''."""
    if not bundle:
        return None
    try:
        _certificates(bundle, "ca_bundle")
        _must_serve(ClientTls("", bundle), "ca_bundle")
    except BadPem as error:
        return error.message
    return None


@lru_cache(maxsize=256)
def first_end(bundle: str) -> tuple[datetime, str] | None:
    """When the first certificate of a bundle ends, and whom it names; None where there is none that can be read."""
    try:
        first = min(_certificates(bundle, "ca_bundle"), key=lambda each: each.not_valid_after_utc)
    except BadPem:
        return None
    return first.not_valid_after_utc, _subject(first)


def _read(certificate: str, private_key: str) -> _Identity:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  with the first certificate: 7 MB
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415  as above
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
        load_pem_private_key,
    )

    chain = _certificates(certificate, "certificate")
    first = chain[0]
    try:
        key = load_pem_private_key(private_key.encode(), password=None)
    except TypeError:
        raise BadPem(
            "private_key", _("The key is encrypted: give it without a password. It is stored encrypted.")
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise BadPem("private_key", _("This is no private key in PEM.")) from None
    forms = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if key.public_key().public_bytes(*forms) != first.public_key().public_bytes(*forms):
        raise BadPem("private_key", _("The key is not that of the certificate."))
    now, ends_at = timezone.now(), first.not_valid_after_utc
    if not first.not_valid_before_utc <= now < ends_at:
        values = {"begin": first.not_valid_before_utc.isoformat(), "end": ends_at.isoformat()}
        raise BadPem("certificate", _("The certificate holds from %(begin)s to %(end)s: not now.") % values)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem += b"".join(each.public_bytes(Encoding.PEM) for each in chain)
    _must_serve(ClientTls(pem.decode(), ""), "certificate")
    return _Identity(pem.decode(), _subject(first), ends_at)


def _subject(certificate: Certificate) -> str:
    return certificate.subject.rfc4514_string()[:500]


def _certificates(text: str, name: str) -> list[Certificate]:
    from cryptography.x509 import load_pem_x509_certificates  # noqa: PLC0415  as above

    if len(text) > LONGEST_PEM:
        raise BadPem(name, _("These may have %(most)s characters in all.") % {"most": LONGEST_PEM})
    try:
        return load_pem_x509_certificates(text.encode())
    except ValueError:
        raise BadPem(name, _("These are no certificates in PEM.")) from None


def _must_serve(tls: ClientTls, name: str) -> None:
    """Raises BadPem where OpenSSL, by which callbacks are sent, wants more of it than to be read."""
    try:
        made_context(tls)
    except BadCertificate:
        raise BadPem(name, _("OpenSSL does not take this: perhaps a key or a signature is too weak.")) from None
