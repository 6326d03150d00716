"""A private Redis server: it starts on a free port, survives a kill, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import redis

from delayhub.errors import DataFolderInUse, ServiceDied
from delayhub.local import redis_server
from delayhub.local.redis_server import RedisServer, free_port
from tests.waiting import wait_until


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
        assert server.pid is None

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
        server._process.wait(60)

        with pytest.raises(ServiceDied, match="ended with exit code 0") as died:
            server.check()
        assert "SIGTERM" in died.value.log


def test_a_taken_port_is_a_sentence_with_the_end_of_the_log() -> None:
    with RedisServer() as first, pytest.raises(ServiceDied, match="Address already in use"):
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
        assert server.pid is not None


def test_a_configuration_that_redis_refuses_is_shown() -> None:
    with pytest.raises(ServiceDied, match="no-such-option"):
        RedisServer(config={"no-such-option": "1"}).start()


def test_a_text_of_several_words_is_several_arguments() -> None:
    quick = {"repl-diskless-sync-delay": 0}
    with RedisServer(config=quick) as master, RedisServer(config={"replicaof": f"127.0.0.1 {master.port}"}) as replica:
        with master.client() as client, replica.client() as copy:
            client.set("written", "there")

            wait_until(lambda: copy.get("written") == b"there", otherwise=replica.log_tail)


def test_a_list_holds_arguments_with_blanks(tmp_path: Path) -> None:
    folder = tmp_path / "two words"

    with RedisServer(data_dir=folder, config={"dbfilename": ["two words.rdb"]}) as server, server.client() as client:
        assert client.config_get("dir") == {"dir": str(folder)}
        assert client.config_get("dbfilename") == {"dbfilename": "two words.rdb"}


def test_a_client_of_a_stopped_server_is_refused() -> None:
    with RedisServer() as server:
        client = server.client()

    with client, pytest.raises(redis.ConnectionError):
        client.ping()
