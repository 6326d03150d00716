"""Which addresses callbacks may go to: the public internet, and what the deployment allows beyond it.

The guard makes the sockets, so it sees each address that is really connected to, whatever a name resolves to at that
moment. The standard library's ``is_global`` is not enough: it is true for NAT64, 6to4, ::127.0.0.1 and multicast.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from tasksapp.delivery.request_url import BadUrl, is_address, request_url

Network = IPv4Network | IPv6Network

#: IANA's special-purpose addresses, multicast and reserved space; and 168.63.129.16, which looks public, but is the
#: host of each virtual machine on Azure.
_DENIED_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
#: Public IPv6 is 2000::/3 without these: Teredo, ORCHID and others of 2001::/23, and documentation.
_PUBLIC_V6 = IPv6Network("2000::/3")
_DENIED_V6 = tuple(IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "3fff::/20"))
#: Prefixes whose addresses hold an IPv4 address, and how many bits lie to the right of it.
_EMBEDDING = (
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("::/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)


class AddressRefused(OSError):
    """Callbacks may not go to this host; ``DELAYHUB["ALLOWED_NETWORKS"]`` opens private networks.

    Callers read this in ``last_error``. It names the host as the URL does, never the addresses that its name leads to.

    Args:
        host: the host.
        addresses: those that its name leads to, for the log.
    """

    def __init__(self, host: str, addresses: Sequence[str] = ()) -> None:
        super().__init__(
            errno.EACCES, f"callbacks may not go to {host}: it has no public address, and none in ALLOWED_NETWORKS"
        )
        self.addresses = addresses
        #: True if a name led there: it may have other addresses by the next attempt. An address stays what it is.
        self.may_change = any(address != host for address in addresses)


class AddressGuard:
    """Makes sockets for allowed addresses only.

    Args:
        allowed_networks: private networks that this deployment calls, such as ``10.1.0.0/16``.
    """

    def __init__(self, allowed_networks: Sequence[str] = ()) -> None:
        self._allowed = tuple(ip_network(network) for network in allowed_networks)

    def make_socket(self, address_info: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
        """A socket for one answer of ``getaddrinfo``, to be connected to that address. Raises AddressRefused."""
        family, kind, protocol, _, address = address_info
        self.check(str(address[0]), scope=int(str(address[3])) if family == socket.AF_INET6 else 0)
        made = DialledSocket(family, kind, protocol)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def allows(self, address: str) -> bool:
        """Whether callbacks may go to that address."""
        try:
            self.check(address)
        except AddressRefused:
            return False
        return True

    def check(self, text: str, *, scope: int = 0) -> None:
        """Raises AddressRefused where callbacks may not go to that address."""
        try:
            address = ip_address(text)
        except ValueError:
            raise AddressRefused(text) from None
        if scope or (isinstance(address, IPv6Address) and address.scope_id):
            raise AddressRefused(text)
        if not any(address in network for network in self._allowed) and not self._is_public(address):
            raise AddressRefused(text)

    def complaint(self, url: str) -> str | None:
        """What is wrong with a callback URL, as far as can be said without DNS; None where nothing is."""
        try:
            host = request_url(url).raw_host or ""
        except BadUrl as error:
            return str(error)
        return self._host_complaint(host)

    def _host_complaint(self, host: str) -> str | None:
        plain = host.rstrip(".").lower()
        if plain == "localhost" or plain.endswith(".localhost"):
            plain = "127.0.0.1"
        try:
            self.check(plain if is_address(plain) else "8.8.8.8")
        except AddressRefused:
            return f"Callbacks may not go to {host}: it is not a public address."
        return None

    def _is_public(self, address: IPv4Address | IPv6Address) -> bool:
        if isinstance(address, IPv4Address):
            return not any(address in network for network in _DENIED_V4)
        for network, shift in _EMBEDDING:
            if address in network:
                embedded = IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
                return any(embedded in allowed for allowed in self._allowed) or self._is_public(embedded)
        return address in _PUBLIC_V6 and not any(address in network for network in _DENIED_V6)


class DialledSocket(socket.socket):
    """A socket for a connection to a receiver.

    uvloop (0.23) closes the descriptor of a connection that its peer resets while TLS begins, and then keeps the socket
    object, which closes the same number once more when it is collected. By then the number may belong to another
    callback, or to a connection to the database. So this socket remembers which file it opened, and leaves any other.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._file = _file_of(self.fileno())

    def close(self) -> None:
        """Closes the socket, if its descriptor is still its own."""
        if not self._is_own():
            self.detach()
        super().close()

    def __del__(self) -> None:
        if self.fileno() < 0:
            return
        if self._is_own():
            os.close(self.detach())
        else:
            self.detach()

    def _is_own(self) -> bool:
        return self.fileno() >= 0 and _file_of(self.fileno()) == getattr(self, "_file", None)


def _file_of(descriptor: int) -> tuple[int, int] | None:
    """Device and inode of an open file; None where the descriptor is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino
