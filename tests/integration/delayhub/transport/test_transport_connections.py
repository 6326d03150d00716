"""Ways to reach Redis: TLS, a password, a Unix socket; and what a wrong address says."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import celery.worker
import pytest
import redis
from kombu import Connection
from kombu.asynchronous.hub import Hub
from kombu.exceptions import OperationalError

from delayhub.errors import OptionError
from delayhub.local.redis_server import RedisServer, free_port
from delayhub.transport import register
from tests.integration.delayhub.transport.tls_proxy import TlsProxy

register()


def round_trip(broker: str, **options: Any) -> Any:
    """What comes out of a queue that a text was put in, over that broker; consumed by a real consumer."""
    once = {"max_retries": 1, "interval_start": 0}
    with Connection(broker, transport_options=once, **options) as connection:
        queue = connection.SimpleQueue("round-trip")
        queue.put("hello")
        message = queue.get(timeout=5)
        message.ack()
        queue.close()
        return message.payload


def test_a_password_and_a_database_are_used() -> None:
    with RedisServer() as server:
        with server.client() as client:
            client.config_set("requirepass", "se/cret")

        assert round_trip(f"delayhub://:se%2Fcret@127.0.0.1:{server.port}/3") == "hello"
        with redis.Redis(port=server.port, password="se/cret", db=3) as client:
            assert client.dbsize() > 0
        for wrong in ("delayhub://:wrong@127.0.0.1", "delayhub://127.0.0.1"):
            with pytest.raises(OperationalError, match=r"(?i)password|auth"):
                round_trip(f"{wrong}:{server.port}/3")


def test_a_database_that_is_not_there_is_named(redis_server: RedisServer) -> None:
    with pytest.raises(OperationalError, match="DB index is out of range"):
        round_trip(f"delayhub://127.0.0.1:{redis_server.port}/999")


def test_a_unix_socket_is_as_good_as_a_port(tmp_path: Path) -> None:
    with RedisServer(config={"unixsocket": str(tmp_path / "redis.sock")}):
        assert round_trip(f"delayhub+socket://{tmp_path}/redis.sock?virtual_host=2") == "hello"


def test_tls_is_used_and_the_servers_certificate_is_checked(redis_server: RedisServer, tmp_path: Path) -> None:
    with TlsProxy(redis_server.port, tmp_path) as proxy:
        trusting = {"ssl_ca_certs": str(proxy.certificate)}

        assert round_trip(f"delayhubs://127.0.0.1:{proxy.port}/0", ssl=trusting) == "hello"
        assert round_trip(f"delayhubs://127.0.0.1:{proxy.port}/0?ssl_cert_reqs=none") == "hello"
        assert round_trip(f"delayhub://127.0.0.1:{proxy.port}/0", ssl=trusting) == "hello"
        with pytest.raises(OperationalError, match="CERTIFICATE_VERIFY_FAILED"):
            round_trip(f"delayhubs://127.0.0.1:{proxy.port}/0")


def test_no_server_at_the_address_is_an_operational_error() -> None:
    with pytest.raises(OperationalError):
        round_trip(f"delayhub://127.0.0.1:{free_port()}/0")


def test_a_sentinel_address_that_kombu_cannot_read_says_how_to_write_it() -> None:
    with pytest.raises(OptionError, match="delayhub-sentinel://"):
        round_trip("delayhub+sentinel://127.0.0.1:26379")


def test_a_master_without_a_name_is_asked_for() -> None:
    with pytest.raises(OptionError, match="master_name"):
        round_trip("delayhub-sentinel://127.0.0.1:26379")


def test_a_worker_whose_app_was_not_installed_says_so(connection: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert celery.worker.__name__ in sys.modules  # as in every worker
    logging.getLogger("delayhub.transport.transport").propagate = True

    connection.transport.register_with_event_loop(connection.connection, Hub())

    assert "was not given to delayhub.install(app)" in caplog.text
