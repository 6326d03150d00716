"""Which program is taken as the Redis server."""

from __future__ import annotations

import pytest

from delayhub.local.redis_server import OLDEST, version_in


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        # Redis, as its wheels and Debian build it
        ("Redis server v=6.2.14 sha=40305114:0 malloc=libc bits=64 build=dff95a8e7a99d269\n", (6, 2, 14)),
        ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0\n", (7, 0, 15)),
        # Valkey answers with its own version here, and with Redis 7.2.4 in INFO
        ("Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0395150\n", (9, 1, 2)),
        # too old
        ("Redis server v=5.0.14 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=ddd3b1f28d0b9b1b\n", (5, 0, 14)),
        # something else
        ("memcached 1.6.18\n", ()),
    ],
)
def test_the_version_is_read_from_what_the_program_prints(answer: str, version: tuple[int, ...]) -> None:
    assert version_in(answer) == version


def test_versions_compare_by_their_numbers() -> None:
    assert version_in("v=10.0.0") > version_in("v=9.1.2") > OLDEST > version_in("v=6.0.16") > ()
