"""What the URL of a cluster means, and what is said of one that means none."""

from __future__ import annotations

import pytest
from redis.connection import SSLConnection

from delayhub.errors import OptionError
from delayhub.redis_cluster import Address, cluster_pool, is_cluster_url


def test_each_part_names_a_node_and_any_of_them_the_password() -> None:
    pool = cluster_pool("delayhub-cluster://a:7000;delayhub-cluster://:secret@b/0", timeout_seconds=1)

    assert pool.map.seeds == (Address("a", 7000), Address("b", 6379))
    assert pool.plain_options["password"] == "secret"
    assert not issubclass(pool.plain_class, SSLConnection)


def test_its_other_scheme_means_tls() -> None:
    assert issubclass(cluster_pool("delayhub-clusters://a:7000", timeout_seconds=1).plain_class, SSLConnection)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("delayhub-cluster://a:7000/1", "only database 0"),
        ("delayhub-cluster://a:7000;b:7001", "each node of a cluster has its scheme"),
        ("delayhub-cluster://a:7000,b:7001", "separated by semicolons"),
        ("delayhub-cluster://a,b", "separated by semicolons"),
        ("delayhub-cluster://a:port", "cannot be read"),
    ],
)
def test_a_url_that_names_no_cluster_says_why(url: str, complaint: str) -> None:
    assert is_cluster_url(url)
    with pytest.raises(OptionError, match=complaint):
        cluster_pool(url, timeout_seconds=1)
