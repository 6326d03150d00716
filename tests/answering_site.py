"""A site that answers the client as a test says, without a network."""

from __future__ import annotations

from typing import Any

import httpx

from delayhub.client import Client
from tests.client_models import job_document


class Site:
    """Answers with what it is given, one after the other, and keeps what it was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers = iter(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, **options: Any) -> Client:
        return Client("https://delay.example", api_key="k", transport=httpx.MockTransport(self), **options)


def ok(value: Any = None, *, status: int = 200) -> httpx.Response:
    """An answer with that document, or with a job's."""
    return httpx.Response(status, json=job_document() if value is None else value)


def refused(status: int, *, code: str | None = None, **headers: str) -> httpx.Response:
    """A problem; ``Retry_After="5"`` stands for the header ``Retry-After``."""
    problem = {"detail": "no"} if code is None else {"detail": "no", "type": f"urn:delayhub:{code}"}
    return httpx.Response(status, json=problem, headers={name.replace("_", "-"): v for name, v in headers.items()})
