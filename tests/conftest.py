"""What every test may ask for, and the rules of a run.

Fixtures: a private Redis server for each test process, a broker on it, a connection to it, a current Celery app.

Rules:
- A test that touches the database gets the marker ``database`` by itself: those can run on PostgreSQL too.
- The house rules get the marker ``check``: they are a part of ``make check``.
- ``postgresql_only`` and ``sqlite_only`` tests are left out of a run on the other database, not skipped.
- A skipped test fails the run, unless its reason begins with "cannot run here:". With ``DELAYHUB_SKIPS=none`` in
  the environment not even that counts.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery, current_app
from kombu import Connection, pools
from xdist.workermanage import parse_tx_spec_config

from delayhub.local.redis_server import RedisServer
from delayhub.redis_cluster import client_of, cluster_pool
from delayhub.transport import register
from tests.cluster import LocalCluster
from tests.healing import what_was_healed
from tests.long_first import long_first
from tests.property_sizes import load_profile
from tests.repository import ROOT
from tests.shares import Shares, has_shares, is_left_to_others, share_of, size_of_share

register()

load_profile()

LEAN_PROCESSES = str(ROOT / "tests" / "lean_processes")
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_serialized_rollback"}
HOUSE = ROOT / "tests" / "house"
MOST_DESCRIPTORS = 200
ALLOWED_SKIP = "cannot run here:"


def pytest_configure(config: pytest.Config) -> None:
    """Processes that tests start are lean; those that run the tests are not."""
    starts_test_processes = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if not starts_test_processes:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [LEAN_PROCESSES, os.environ.get("PYTHONPATH")]))


@pytest.fixture(scope="session", autouse=True)
def few_descriptors() -> Iterator[None]:
    """Tests close what they open: select() knows no descriptor from 1 024 on, and a process has a bounded number."""
    yield
    gc.collect()
    opened = len(list(Path("/dev/fd").iterdir()))
    assert opened < MOST_DESCRIPTORS, f"the tests of this process left {opened} files and sockets open"


@pytest.fixture(scope="session", autouse=True)
def quick_flushes() -> Iterator[None]:
    """Flushes of the database, with which tests of several transactions end, take a millisecond instead of 85."""
    from django.test import TransactionTestCase

    from tests.flushed_tables import flush_quickly, needs_other_connections

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TransactionTestCase, "_fixture_teardown", flush_quickly)
        patched.setattr(TransactionTestCase, "_should_reload_connections", needs_other_connections)
        yield


@pytest.fixture(scope="session", autouse=True)
def version_of_redis_py() -> Iterator[None]:
    """It is read once, not for each connection: redis-py looks for it in its metadata, for a millisecond."""
    from redis import utils

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(utils, "get_lib_version", cache(utils.get_lib_version))
        yield


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """The tests' database, whose flushes keep what it has now."""
    from tests.flushed_tables import keep_rows

    with django_db_blocker.unblock():
        keep_rows("default")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """One process of several migrates a database, and each works on a copy of it."""
    if process := os.environ.get("PYTEST_XDIST_WORKER"):
        from django.db import connection

        from tests.migrated_database import copies_of_one_migration

        creation = connection.creation
        creation.create_test_db = copies_of_one_migration(creation, process=process)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis server that only this test process uses."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_client(request: pytest.FixtureRequest, redis_server: RedisServer) -> Iterator[redis.Redis]:
    """A client that does not decode replies, of a server that holds nothing."""
    redis_server.check()
    with redis_server.client() as client:
        client.flushall()
        yield client
        if "heals" not in request.keywords:
            assert what_was_healed(client) == {}


@pytest.fixture(scope="session")
def nodes_of_cluster() -> Iterator[LocalCluster]:
    """A Redis Cluster of three masters that only this test process uses."""
    with LocalCluster(masters=3) as found:
        yield found


@pytest.fixture
def cluster(nodes_of_cluster: LocalCluster) -> LocalCluster:
    """That cluster, which holds nothing."""
    nodes_of_cluster.empty()
    return nodes_of_cluster


@pytest.fixture
def cluster_client(cluster: LocalCluster) -> Iterator[redis.Redis]:
    """A client of that cluster that is patient for a quarter of a minute."""
    pool = cluster_pool(cluster.url, timeout_seconds=15)
    yield client_of(pool)
    pool.disconnect()


@pytest.fixture
def broker(redis_server: RedisServer, redis_client: redis.Redis) -> str:
    """The URL of an empty delayhub broker."""
    assert redis_client.dbsize() == 0
    return redis_server.url.replace("redis://", "delayhub://")


@pytest.fixture
def connection(broker: str) -> Iterator[Any]:
    """A connection of kombu's to that broker."""
    with Connection(broker) as opened:
        yield opened


@pytest.fixture
def ctrl_c_is_heard() -> Iterator[None]:
    """What a shell starts in the background ignores SIGINT, as do its children, and the tests may be that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def same_celery() -> Iterator[None]:
    """No test leaves its Celery app to the next as the current one: each new app makes itself that.

    Nor its connections: kombu keeps a pool of them for each broker and each set of options.
    """
    before = current_app._get_current_object()
    yield
    before.set_current()
    pools.connections.clear()
    pools.producers.clear()


@pytest.fixture
def current_celery(same_celery: None) -> Iterator[Celery]:
    """A Celery app that is the current one for as long as a test runs."""
    made = Celery("tests")
    yield made
    made.close()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Spares the garbage collector the tests and all that stays for good: it took 3 of the 8 s of a collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Spares a process of several the files of which others have the tests."""
    if collection_path.suffix == ".py" and collection_path.name.startswith("test_"):
        return _others_have(collection_path, config=config) or None
    return None


def _others_have(path: Path, *, config: pytest.Config) -> bool:
    own = getattr(config, "workerinput", {})
    process = own.get("share_of", "")
    return process != "" and is_left_to_others(path, process=process, processes=own["workercount"])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells one of several processes which tests it has."""
    node.workerinput["share_of"] = share_of(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Shares | None:
    processes = len(parse_tx_spec_config(config))
    return Shares(config, log, processes) if has_shares(config, processes) else None


@pytest.hookimpl(tryfirst=True, wrapper=True)  # before -m selects, and after others have put them in their order
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    other = "sqlite_only" if os.environ.get("DELAYHUB_TEST_DATABASE") == "postgresql" else "postgresql_only"
    for item in items:
        if item.get_closest_marker("django_db") or DATABASE_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("database")
        if item.path.is_relative_to(HOUSE):
            item.add_marker("check")
    left_out = [item for item in items if item.get_closest_marker(other)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    yield
    if own := getattr(config, "workerinput", None):
        items[:] = [item for item in items if not _others_have(item.path, config=config)]
        items[:] = long_first(items, processes=size_of_share(own.get("share_of", ""), own["workercount"]))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return  # the process that started this one goes on
    from tests.migrated_database import drop_migrated_database

    drop_migrated_database()
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    strict = os.environ.get("DELAYHUB_SKIPS") == "none"
    for report in reporter.stats.get("skipped", ()):
        reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
        if strict or not reason.startswith(ALLOWED_SKIP):
            reporter.ensure_newline()
            reporter.write_line(f"SKIPPED, so this run fails: {report.nodeid}: {reason}", red=True)
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
