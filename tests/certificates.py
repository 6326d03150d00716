"""Certificates for tests: of an authority of their own, for a receiver on 127.0.0.1 and for those who call it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from django.utils import timezone

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass
class Made:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: Key

    @property
    def pem(self) -> str:
        """The certificate."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def key_pem(self) -> str:
        """The key."""
        return self._key(None)

    @property
    def encrypted_key_pem(self) -> str:
        """The key behind a password."""
        return self._key(b"password")

    def _key(self, password: bytes | None) -> str:
        sealed = BestAvailableEncryption(password) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, sealed).decode()


def made(name: str, *, by: Made | None = None, begins: int = -1, days: int = 30, key: Key | None = None) -> Made:
    """A certificate of that name; an authority's own where no other signs it. It begins and ends in so many days."""
    key, now = key or ec.generate_private_key(ec.SECP256R1()), timezone.now()
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=begins))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
    )
    if by is not None:
        here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        builder = builder.add_extension(here, critical=False)
    return Made(builder.sign(by.key if by else key, SHA256()), key)


def server_context(server: Made, *, folder: Path, asks_for: Made | None = None) -> ssl.SSLContext:
    """That of a receiver, which asks for certificates of that authority; of none, for none."""
    file = folder / "server.pem"
    file.write_text(server.key_pem + server.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    if asks_for is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=asks_for.pem)
    return context
