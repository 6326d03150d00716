"""Metrics as Prometheus would have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tasksapp.metrics.catalogue import BizTypeSeries


def samples(families: Iterable[Any]) -> dict[tuple[str, ...], float]:
    """Each sample by its name and the values of its labels: ``("delayhub_jobs", "default", "order.close", "dead")``."""
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


def stored_series() -> BizTypeSeries:
    """The series of the biz types that are stored now."""
    return BizTypeSeries.read(using="default")
