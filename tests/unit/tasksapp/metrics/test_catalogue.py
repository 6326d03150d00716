"""The list of metrics: names as Prometheus wants them, and a page that shows all of them."""

from __future__ import annotations

import re

from tasksapp.metrics.catalogue import EVERY, Kind
from tests.repository import ROOT

PAGE = ROOT / "docs/reference/metrics.md"


def metrics_table() -> str:
    """Every metric: its name, type, labels and meaning."""
    rows = ["| metric | type | labels | what it is |", "|---|---|---|---|"]
    for each in EVERY:
        labels = ", ".join(f"`{label}`" for label in each.labels)
        rows.append(f"| `{each.name}` | {each.kind} | {labels} | {each.about} |")
    return "\n".join(rows)


def test_the_page_has_every_metric_with_its_type_labels_and_meaning() -> None:
    assert metrics_table() in PAGE.read_text(), f"docs/reference/metrics.md should show:\n{metrics_table()}"


def test_names_are_as_prometheus_wants_them() -> None:
    assert len({each.name for each in EVERY}) == len(EVERY)
    for each in EVERY:
        assert re.fullmatch(r"delayhub(_[a-z]+)+", each.name)
        assert each.name.endswith("_total") == (each.kind is Kind.COUNTER)
        assert each.about.endswith(".")
