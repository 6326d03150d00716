"""A Prometheus server of its own for a test, with the rules and the configuration that DelayHub ships."""

from __future__ import annotations

import os
import re
import shutil
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
import requests
import yaml

from delayhub.local.redis_server import free_port
from delayhub.local.service import Service
from tests.repository import ROOT

SHIPPED = ROOT / "deploy/prometheus"
MISSING = "cannot run here: there is no {}; on Debian: apt install prometheus"


def program(name: str) -> str:
    """Where ``prometheus`` or ``promtool`` is; the test is skipped where it is not."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(MISSING.format(name))
    return found


def without_variables(query: str) -> str:
    """A query of the board as Prometheus takes it."""
    return re.sub(r"\$(cell|tenant|biz_type)\b", ".*", query.replace("$__rate_interval", "1m"))


class PrometheusServer:
    """Runs as long as the ``with`` block does; it scrapes and judges each second, and no alert waits.

    Args:
        folder: where it keeps everything.
        targets: addresses of web processes.
        token: what they let it in by.
    """

    def __init__(self, folder: Path, *, targets: list[str], token: str) -> None:
        self._folder = folder
        self._token = token
        self._targets = targets
        self._url = f"http://127.0.0.1:{free_port()}"

    def __enter__(self) -> Self:
        settings = yaml.safe_load((SHIPPED / "prometheus.yml").read_text())
        settings["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        [scrape] = settings["scrape_configs"]
        scrape["static_configs"] = [{"targets": self._targets}]
        scrape["authorization"] = {"credentials": self._token}
        (self._folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
        rules = re.sub(r"^( +for:) .*$", r"\1 0s", (SHIPPED / "alerts.yml").read_text(), flags=re.MULTILINE)
        (self._folder / "alerts.yml").write_text(rules)
        self._service = Service(
            "prometheus",
            command=[
                program("prometheus"),
                f"--config.file={self._folder}/prometheus.yml",
                f"--storage.tsdb.path={self._folder}/data",
                f"--web.listen-address={self._url.removeprefix('http://')}",
            ],
            environment=dict(os.environ),
            log=self._folder / "prometheus.log",
            is_ready=self._is_ready,
        )
        self._service.launch()
        try:
            self._service.wait_until_ready()
        except BaseException:
            self._service.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._service.stop()

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of an instant query: ``{"metric": {…labels…}, "value": [time, "1"]}``."""
        return list(self._ask("query", query=expression)["result"])

    def value(self, expression: str) -> float | None:
        """The value of a query for one number; None where there is none."""
        found = self.query(expression)
        assert len(found) < 2, found
        return float(found[0]["value"][1]) if found else None

    def names(self) -> set[str]:
        """The names of all series."""
        return set(self._ask("label/__name__/values"))

    def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        return {alert["labels"]["alertname"] for alert in self._ask("alerts")["alerts"] if alert["state"] == "firing"}

    def troubles(self) -> list[str]:
        """What is wrong with the last scrape of each target."""
        return [target["lastError"] for target in self._ask("targets")["activeTargets"] if target["lastError"]]

    def _ask(self, path: str, **parameters: str) -> Any:
        answer = requests.get(f"{self._url}/api/v1/{path}", params=parameters, timeout=60)
        assert answer.status_code == 200, (parameters, answer.text)
        return answer.json()["data"]

    def _is_ready(self) -> bool:
        with urllib.request.urlopen(f"{self._url}/-/ready", timeout=60) as answer:
            return bool(answer.status == 200)
