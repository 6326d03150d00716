"""A site for the tests of its clients: the ready-made project's web server, without Redis and workers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.web_server import prepare_database, web_server


@pytest.fixture(scope="session")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the site."""
    folder = tmp_path_factory.mktemp("site")
    prepare_database(folder)
    with web_server(folder) as port:
        yield port
