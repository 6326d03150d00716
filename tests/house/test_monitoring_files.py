"""The rules and the board for Prometheus ask for metrics that exist, and Prometheus' own tool finds nothing wrong."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tasksapp.metrics.catalogue import EVERY, Kind
from tests.prometheus_server import SHIPPED, program, without_variables
from tests.repository import ROOT

BOARD = json.loads((SHIPPED / "grafana.json").read_text())
RULES = yaml.safe_load((SHIPPED / "alerts.yml").read_text())["groups"][0]["rules"]


def board_queries() -> list[tuple[str, str]]:
    """The title of each panel, with each of its queries."""
    return [(panel["title"], target["expr"]) for panel in BOARD["panels"] for target in panel.get("targets", ())]


def names_in(query: str) -> set[str]:
    """The names of DelayHub's series in a query."""
    return set(re.findall(r"\bdelayhub_\w+", query))


def known_names() -> set[str]:
    """The names of all series that the site serves."""
    return {
        each.name + suffix
        for each in EVERY
        for suffix in (("_bucket", "_sum", "_count") if each.kind is Kind.HISTOGRAM else ("",))
    }


def tool(*arguments: str) -> str:
    done = subprocess.run([program("promtool"), *arguments], capture_output=True, text=True, cwd=SHIPPED, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("title", "query"), board_queries())
def test_every_panel_of_the_board_asks_for_metrics_that_exist(title: str, query: str) -> None:
    assert names_in(query), title
    assert names_in(query) <= known_names(), title


def test_every_metric_is_on_the_board_or_in_a_rule() -> None:
    queries = [*(query for _, query in board_queries()), *(rule["expr"] for rule in RULES)]
    asked = set().union(*map(names_in, queries))

    unused = {each.name for each in EVERY if not any(name.startswith(each.name) for name in asked)}

    assert unused == set()


def test_panels_have_titles_and_places_of_their_own() -> None:
    panels = BOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_alert_asks_for_metrics_that_exist_and_says_what_it_means() -> None:
    for rule in RULES:
        assert names_in(rule["expr"]) <= known_names(), rule["alert"]
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert {"summary", "description"} <= rule["annotations"].keys()


def test_the_page_lists_every_alert() -> None:
    page = (ROOT / "docs/reference/metrics.md").read_text()

    assert {rule["alert"] for rule in RULES} == set(re.findall(r"^\| `(DelayHub\w+)` \|", page, flags=re.MULTILINE))


def test_prometheus_tool_takes_the_rules_the_configuration_and_the_boards_queries(tmp_path: Path) -> None:
    queries = {f"query_{number}": without_variables(query) for number, (_, query) in enumerate(board_queries())}
    rules = [{"record": name, "expr": query} for name, query in queries.items()]
    board = tmp_path / "board.yml"
    board.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))

    assert f"{len(RULES)} rules found" in tool("check", "rules", "alerts.yml")
    assert f"{len(rules)} rules found" in tool("check", "rules", str(board))
    assert "SUCCESS" in tool("check", "config", "prometheus.yml")


def test_the_alerts_own_tests_pass() -> None:
    assert "SUCCESS" in tool("test", "rules", "alerts_test.yml")
