"""One address for broker and results: the error has the address to write."""

from __future__ import annotations

import pytest
from celery import Celery
from celery.exceptions import ImproperlyConfigured

import delayhub


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("delayhub://cache:6379/0", "'redis://cache:6379/0'"),
        ("delayhubs://shop:secret@cache/0", "'rediss://shop:**@cache/0'"),
        ("delayhub-sentinel://:secret@a:26379;delayhub-sentinel://b", "'sentinel://:**@a:26379;sentinel://b'"),
        ("delayhub", "'redis://host:6379/0'"),
    ],
)
def test_it_names_celerys_own_backend_at_that_address(given: str, meant: str) -> None:
    app = delayhub.install(Celery("shop", broker="delayhub://cache:6379/0", backend=given, set_as_current=False))

    with pytest.raises(ImproperlyConfigured, match="keeps no results") as refused:
        app.backend.get_state("t")

    assert meant in str(refused.value)
    assert "secret" not in str(refused.value)
    app.close()
