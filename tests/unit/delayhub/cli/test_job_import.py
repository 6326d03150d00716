"""Imports that are broken off go on where they were (``import_progress``), and no line makes two jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from delayhub.cli import job_import, session
from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.main import main
from delayhub.client import Client

LINES = 25


class Site:
    """Creates a job for each new idempotency key; does not answer from a request on, or limits some."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.requests = 0
        self.dies_at = 0
        self.limits: set[str] = set()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        results = [self._create(job) for job in json.loads(request.content)["jobs"]]
        if self.requests == self.dies_at:
            raise httpx.ReadError("cut")  # the jobs are there, the answer is lost
        refused = sum("error" in result for result in results)
        return httpx.Response(201, json={"created": 0, "refused": refused, "results": results})

    def _create(self, job: dict[str, Any]) -> dict[str, Any]:
        problem = {"type": "urn:x", "title": "t", "detail": "no", "errors": []}
        if job["biz_type"] == "no.such":
            return {"error": {**problem, "status": 400}}
        if job["biz_id"] in self.limits:
            self.limits.remove(job["biz_id"])
            return {"error": {**problem, "status": 429}}
        key = job["idempotency_key"]
        created = key not in self.jobs
        self.jobs.setdefault(key, job)
        return {"id": key, "created": created, "replaced": False, "past_due": False}


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site()

    def client(url: str, *, api_key: str) -> Client:
        return Client(url, api_key=api_key, retries=0, transport=httpx.MockTransport(site))

    monkeypatch.setenv("DELAYHUB_URL", "http://site.example")
    monkeypatch.setenv("DELAYHUB_API_KEY", "k")
    monkeypatch.setattr(session, "Client", client)
    monkeypatch.setattr(job_import, "LIMITED_SECONDS", 0.0)
    return site


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.ndjson"
    path.write_text("".join(f'{{"biz_type": "order.close", "biz_id": "order-{n}"}}\n' for n in range(LINES)))
    return path


def import_file(file: Path, *options: str) -> int:
    return main(["jobs", "import", str(file), "--batch", "10", *options])


@pytest.mark.parametrize("dies_at", [1, 2, 3])
def test_a_broken_import_goes_on_and_makes_each_job_once(
    site: Site, file: Path, dies_at: int, capsys: pytest.CaptureFixture[str]
) -> None:
    site.dies_at = dies_at

    broken = import_file(file)
    done = import_file(file)

    assert (broken, done) == (ExitCode.UNAVAILABLE, ExitCode.OK)
    assert sorted(job["biz_id"] for job in site.jobs.values()) == sorted(f"order-{n}" for n in range(LINES))
    repeated = 5 if dies_at == 3 else 10
    assert f"{LINES} lines: {LINES - repeated} created, {repeated} were there already." in capsys.readouterr().err


def test_a_complete_import_is_not_made_twice_by_mistake(
    site: Site, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import_file(file)

    assert import_file(file) == ExitCode.FAILED
    assert "was imported already" in capsys.readouterr().err
    assert len(site.jobs) == LINES
    assert import_file(file, "--restart") == ExitCode.OK
    assert len(site.jobs) == 2 * LINES


def test_another_file_of_that_name_is_not_gone_on_with(
    site: Site, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site.dies_at = 2
    import_file(file)
    file.write_text(file.read_text().replace("order-0", "order-X"))

    assert import_file(file) == ExitCode.FAILED
    assert "has changed" in capsys.readouterr().err


def test_refused_lines_are_kept_with_their_reasons(site: Site, file: Path) -> None:
    with file.open("a") as lines:
        lines.write('{"biz_type": "no.such", "biz_id": "a"}\nno json\n\n[]\n')

    assert import_file(file) == ExitCode.SOME_REFUSED

    kept = [json.loads(line) for line in Path(f"{file}.refused.ndjson").read_text().splitlines()]
    assert [(line["line"], line["error"]["detail"][:16]) for line in kept] == [
        (LINES + 1, "no"),
        (LINES + 2, "the line is no J"),
        (LINES + 4, "the line is no J"),
    ]
    assert len(site.jobs) == LINES


@pytest.mark.parametrize(
    "line",
    ['"body": NaN}', '"biz_id": "\\ud800"}', '"raw": "text"}', f'"body": {"[" * 100_000}'],
    ids=["NaN", "half a pair", "raw", "deep"],
)
def test_a_line_that_cannot_be_sent_is_refused_and_the_others_are_created(site: Site, file: Path, line: str) -> None:
    file.write_text(f'{{"biz_type": "order.close", {line}\n{file.read_text()}')

    assert import_file(file) == ExitCode.SOME_REFUSED

    (kept,) = Path(f"{file}.refused.ndjson").read_text().splitlines()
    assert json.loads(kept)["line"] == 1
    assert len(site.jobs) == LINES


def test_a_line_whose_key_is_null_makes_one_job_too(site: Site, file: Path) -> None:
    file.write_text('{"biz_type": "order.close", "biz_id": "order-1", "idempotency_key": null}\n')
    site.dies_at = 1

    broken = import_file(file)
    done = import_file(file)

    assert (broken, done, len(site.jobs)) == (ExitCode.UNAVAILABLE, ExitCode.OK, 1)


def test_lines_that_came_too_fast_for_their_biz_type_are_sent_again(site: Site, file: Path) -> None:
    site.limits = {"order-3", "order-11"}

    assert import_file(file) == ExitCode.OK
    assert len(site.jobs) == LINES
