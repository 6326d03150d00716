"""A site for the tests of its clients: the ready-made project's web server, without Redis and workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lasting import Lasting
from tests.typescript_client import over, typescript
from tests.web_server import prepare_database, web_server

__all__ = ["over", "typescript"]

LASTING: Lasting[int] = Lasting("lasting_web_server")


@contextmanager
def prepared(folder: Path) -> Iterator[int]:
    prepare_database(folder)
    with web_server(folder) as port:
        yield port


@pytest.fixture(scope="module")
def lasting_web_server(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The port of the site, which is one for tests of several modules."""
    return LASTING.begun(lambda: prepared(tmp_path_factory.mktemp("site")))


@pytest.hookimpl(trylast=True)  # after the fixtures of the test
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    LASTING.end_before(item, nextitem)


@pytest.fixture(scope="module")
def port(lasting_web_server: int) -> int:
    """The port of the site."""
    return lasting_web_server
