"""The runbook has an entry for each alert, each check and each reason of death that there is, and for no other."""

from __future__ import annotations

import re

import yaml

from tasksapp.models import AlertKind
from tasksapp.models.error_class import ERROR_CLASSES
from tests.repository import ROOT, python_files, text_of

PAGE = (ROOT / "docs/run/runbook.md").read_text()
PARTS = {part.splitlines()[0]: part for part in PAGE.split("\n## ")}


def keys(part: str) -> list[str]:
    """What the first column of a part's table has."""
    return re.findall(r"^\| `([^`]+)` \|", PARTS[part], re.MULTILINE)


def test_each_alert_has_an_entry() -> None:
    assert keys("Alerts") == [kind.value for kind in AlertKind]


def test_each_rule_for_prometheus_has_an_entry() -> None:
    rules = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"][0]["rules"]

    named = re.findall(r"`(DelayHub\w+)`", PARTS["Alerts"])
    assert sorted(named) == sorted(rule["alert"] for rule in rules)


def test_each_reason_of_death_has_an_entry() -> None:
    families = ["http.<status>", "task.<exception>"]

    assert sorted(keys("Reasons why jobs are dead")) == sorted([*families, *map(str, ERROR_CLASSES)])


def test_each_check_has_an_entry() -> None:
    texts = "".join(map(text_of, python_files("tasksapp", "delayhub")))
    ids = set(re.findall(r"\bid=\"delayhub\.([EW]\d+)\"", texts))

    assert len(ids) >= 30
    assert keys("System checks") == sorted(ids)


def test_each_command_that_it_names_is_there() -> None:
    commands = {path.stem for path in (ROOT / "tasksapp/management/commands").glob("*.py")}

    named = set(re.findall(r"`manage\.py (\w+)", PAGE)) - {"check"}
    assert named
    assert named <= commands
