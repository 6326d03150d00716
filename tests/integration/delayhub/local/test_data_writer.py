"""Which server wrote a folder is read from its files, whatever servers were started in it since."""

from __future__ import annotations

from pathlib import Path

import pytest

from delayhub.local.data_writer import Server, writer_of
from delayhub.local.redis_server import RedisServer, server_of


def test_a_server_that_wrote_is_named(tmp_path: Path) -> None:
    with RedisServer(data_dir=tmp_path, append_only=True) as server, server.client() as client:
        client.set("key", "value")

    assert writer_of(tmp_path) == server_of(server.program)


@pytest.mark.parametrize("file", ["dump.rdb", "appendonly.aof", "appendonlydir/appendonly.aof.3.base.rdb"])
def test_each_file_that_servers_write_names_them(tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_bytes(b"REDIS0010\xfa\x09redis-ver\x067.0.15\xfa\x0aredis-bits\xc0@")

    assert str(writer_of(tmp_path)) == "Redis 7.0.15"


def test_a_folder_without_files_or_with_others_names_none(tmp_path: Path) -> None:
    assert writer_of(tmp_path) is None
    (tmp_path / "appendonly.aof").write_bytes(b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n")
    assert writer_of(tmp_path) is None


def test_a_later_release_of_the_family_reads_it() -> None:
    old, new, other = Server("Redis", (7, 0, 15)), Server("Redis", (7, 4, 1)), Server("Valkey", (9, 1, 2))

    assert [server.reads(old) for server in (old, new, other)] == [True, True, False]
    assert not old.reads(new)
