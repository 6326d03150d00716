"""``CELERY_LOADER``: an app is installed without a change of its code."""

from __future__ import annotations

import pytest
from celery import Celery

from delayhub.celery_support.control import Control
from delayhub.celery_support.loader import Loader


def test_an_app_that_is_made_under_the_variable_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELERY_LOADER", "delayhub.celery_support.loader:Loader")
    app = Celery("shop", broker="delayhub://127.0.0.1:1/0", set_as_current=False)

    assert app.connection_for_write().get_transport_cls().__module__ == "delayhub.transport.transport"
    assert isinstance(app.loader, Loader)
    assert isinstance(app.control, Control)
    app.close()
