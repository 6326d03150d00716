"""Which Redis server a broker's URL means."""

from __future__ import annotations

import pytest

from delayhub.errors import OptionError
from tasksapp.timers.broker import redis_url


@pytest.mark.parametrize(
    ("broker_url", "expected"),
    [
        ("delayhub://:secret@cache:6380/2", "redis://:secret@cache:6380/2"),
        # a password keeps its percent signs: redis-py decodes them
        ("delayhub://user:se%2Fcret@cache", "redis://user:se%2Fcret@cache"),
        ("delayhubs://cache:6380/2", "rediss://cache:6380/2"),
        # what kombu and redis-py write alike stays, what they write differently is translated
        ("delayhubs://cache/0?ssl_cert_reqs=none&ssl_ca_certs=/etc/ca.pem",
         "rediss://cache/0?ssl_cert_reqs=none&ssl_ca_certs=%2Fetc%2Fca.pem"),
        ("delayhubs://cache/0?ssl_cert_reqs=CERT_OPTIONAL", "rediss://cache/0?ssl_cert_reqs=optional"),
        ("delayhub+socket:///run/redis.sock", "unix:///run/redis.sock"),
        ("delayhub+socket:///run/redis.sock?virtual_host=2", "unix:///run/redis.sock?db=2"),
        # Redis' own
        ("redis://cache/0", "redis://cache/0"),
        ("rediss://cache/0", "rediss://cache/0"),
        ("unix:///run/redis.sock?db=1", "unix:///run/redis.sock?db=1"),
    ],
)  # fmt: skip
def test_a_broker_url_becomes_a_redis_url(broker_url: str, expected: str) -> None:
    assert redis_url(broker_url) == expected


@pytest.mark.parametrize(
    ("broker_url", "complaint"),
    [
        ("", "begins with a scheme"),
        ("cache:6379", "begins with a scheme"),
        ("delayhub-sentinel://:secret@a:26379", "delayhub-sentinel:// names sentinels"),
        ("amqp://:secret@rabbit", "amqp:// is no broker on Redis"),
        ("memory://", "memory:// is no broker on Redis"),
        ("delayhub+tcp://:secret@cache", r"delayhub\+tcp:// is no broker on Redis"),
        ("delayhub://:secret@a:6379;delayhub://b:6379", "names several"),
    ],
)
def test_a_url_that_names_no_single_redis_server_is_refused_without_its_password(
    broker_url: str, complaint: str
) -> None:
    with pytest.raises(OptionError, match=complaint) as refused:
        redis_url(broker_url)

    assert "secret" not in str(refused.value)
