"""ClientTls: what a biz type brings to TLS with its receiver: a certificate of its own, and whom it trusts."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache


class BadCertificate(ValueError):
    """TLS cannot be spoken with what is stored: set the certificate and its key, or the bundle, again."""


@dataclass(frozen=True, slots=True)
class ClientTls:
    """What is the same for all biz types that have the same certificate, key and bundle.

    Args:
        identity: the private key and the certificates, in PEM; '' for none.
        ca_bundle: certificates of those who may vouch for the receiver, in PEM; '' for those that the system trusts.
    """

    identity: str = field(repr=False)
    ca_bundle: str


@lru_cache(maxsize=256)
def context_of(tls: ClientTls) -> ssl.SSLContext:
    """The context of connections with it: one for each, so that connections are kept and used again by it alone.

    It reads files of the system and takes milliseconds. Raises BadCertificate.
    """
    return made_context(tls)


def made_context(tls: ClientTls) -> ssl.SSLContext:
    """A context that is not kept. Raises BadCertificate."""
    # Of the words between certificates, Python takes those of ASCII only.
    bundle = tls.ca_bundle.encode("ascii", "ignore").decode()
    try:
        context = ssl.create_default_context(cadata=bundle or None)
        context.set_alpn_protocols(("http/1.1",))
        if tls.identity:
            with _in_memory(tls.identity.encode()) as path:
                # Without a password, OpenSSL would ask for that of an encrypted key at the terminal.
                context.load_cert_chain(path, password="")
    except (ssl.SSLError, OSError, ValueError) as error:
        # Its own text may quote what it could not read.
        raise BadCertificate(
            f"the certificate, its key or the bundle cannot be used ({type(error).__name__})"
        ) from None
    return context


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """The path of a file that is on no disk, since OpenSSL takes a key by its path only."""
    if not hasattr(os, "memfd_create"):  # outside Linux: a file of this user, while it is read
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
        return
    descriptor = os.memfd_create("delayhub")
    try:
        os.write(descriptor, content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
