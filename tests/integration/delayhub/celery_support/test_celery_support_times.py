"""Times as Celery users write them: negative countdowns, etas without a time zone, past ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import Celery

from delayhub.engine import Counts, DelayQueue
from tests.celery_versions import needs_countdowns_in_seconds


@pytest.mark.parametrize(
    "when",
    [
        {"countdown": -5},
        {"countdown": 0},
        {"eta": datetime(1999, 1, 1, tzinfo=UTC)},
        {"eta": datetime(1999, 1, 1)},  # noqa: DTZ001  without a time zone on purpose
    ],
)
def test_what_should_have_been_is_now(when: dict[str, Any], app: Celery, queue: DelayQueue) -> None:
    app.tasks["shop.close"].apply_async(["order-1"], **when)

    assert queue.count() == Counts(0, 1, 0, 0)


@pytest.mark.parametrize("utc", [True, False])
def test_an_eta_without_a_time_zone_is_in_utc_as_celerys_workers_read_it(
    utc: bool, app: Celery, queue: DelayQueue
) -> None:
    app.conf.update(timezone="Europe/Berlin", enable_utc=utc)
    eta = datetime(2030, 7, 15, 12)  # noqa: DTZ001  on purpose

    result = app.tasks["shop.close"].apply_async(["order-1"], eta=eta)
    assert queue.list("waiting")[0].at_ms == eta.replace(tzinfo=UTC).timestamp() * 1000

    assert app.control.reschedule(result.id, eta=eta + timedelta(hours=1))
    assert queue.list("waiting")[0].at_ms == (eta.replace(tzinfo=UTC) + timedelta(hours=1)).timestamp() * 1000


@needs_countdowns_in_seconds
def test_a_countdown_over_a_change_of_the_clock_is_seconds(
    app: Celery, queue: DelayQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.conf.update(timezone="Europe/Berlin", enable_utc=False)
    before = datetime(2030, 10, 27, 0, 30, tzinfo=UTC)  # 2:30 for the first time, there
    monkeypatch.setattr(app, "now", lambda: before.astimezone(app.timezone))

    app.tasks["shop.close"].apply_async(["order-1"], countdown=3600)

    (waiting,) = queue.list("waiting")
    assert waiting.at_ms == (before + timedelta(hours=1)).timestamp() * 1000
