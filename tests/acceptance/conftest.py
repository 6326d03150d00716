"""A Celery project on an empty broker, and workers for it: what tests of real workers ask for."""

from __future__ import annotations

import gc
import importlib.util
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import celery._state
import pytest

from delayhub.demo.site import Site
from delayhub.local.redis_server import RedisServer
from tests.acceptance.celery_worker import PROJECT, CeleryWorker
from tests.acceptance.site import site_in
from tests.acceptance.warm_python import OF_WORKERS, WarmPython
from tests.lasting import Lasting
from tests.migrated_file import put_kept_file
from tests.property_sizes import FACTOR

LASTING: Lasting[Site] = Lasting("lasting_site")


@pytest.fixture(scope="module")
def lasting_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site of several modules, one after another: each leaves it up and running, with its samples as they were."""
    site = LASTING.begun(lambda: site_in(tmp_path_factory.mktemp("site")))
    yield site
    site.check()


@pytest.hookimpl(trylast=True)  # after the fixtures of the test
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    LASTING.end_before(item, nextitem)


@pytest.fixture
def env(broker: str, redis_server: RedisServer) -> dict[str, str]:
    results = redis_server.url.removesuffix("/0") + "/1"
    return {"BROKER_URL": broker, "RESULT_URL": results, "LEASE_SECONDS": "2"}


@pytest.fixture
def proj(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The test project, as a producer in this process."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    spec = importlib.util.spec_from_file_location("proj", PROJECT / "proj.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["proj"] = module
    # Celery remembers each app's tasks for apps to come, those of other tests too.
    monkeypatch.setattr(celery._state, "_on_app_finalizers", set(celery._state._on_app_finalizers))
    spec.loader.exec_module(module)
    yield module
    with warnings.catch_warnings():
        # Results unsubscribe when they are collected, which wants a live server. Celery leaves their connections to the
        # collector too, and that may come to a socket before it comes to the connection that would close it.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    module.app.close()
    del sys.modules["proj"]


@pytest.fixture(scope="session")
def warm_workers() -> Iterator[WarmPython | None]:
    """What workers of the test project are forked from by day; at night each starts as people start it."""
    if FACTOR > 1:
        yield None
        return
    with WarmPython(OF_WORKERS, kind="worker") as python:
        yield python


@pytest.fixture
def worker(env: dict[str, str], tmp_path: Path, warm_workers: WarmPython | None) -> Callable[..., CeleryWorker]:
    def make(pool: str = "threads", *, broker_port: int | None = None, **more: str) -> CeleryWorker:
        own = {**env, **more}
        if broker_port:
            own["BROKER_URL"] = f"delayhub://127.0.0.1:{broker_port}/0"
        return CeleryWorker(own, pool=pool, folder=tmp_path, warm=warm_workers)

    return make


@pytest.fixture
def patience(broker: str, tmp_path: Path) -> dict[str, str]:
    """The environment of the project ``patience``, whose tasks are jobs in a database of its own, with tables."""
    own = {
        "PATIENCE_BROKER": broker,
        "PATIENCE_DATABASE": str(tmp_path / "patience.sqlite3"),
        "DJANGO_SETTINGS_MODULE": "patience.settings",
        "PYTHONPATH": os.pathsep.join([str(PROJECT.parent / "task_project"), os.environ["PYTHONPATH"]]),
    }
    environment = {**os.environ, **own}

    def migrate(path: Path) -> None:
        command = [sys.executable, "-m", "django", "migrate", "--verbosity", "0"]
        there = {**environment, "PATIENCE_DATABASE": str(path)}
        subprocess.run(command, env=there, check=True, timeout=240)

    put_kept_file(Path(own["PATIENCE_DATABASE"]), migrate)
    return environment
