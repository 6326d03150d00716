"""What the tools of agents ask a site for."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
import pytest

from delayhub.agents.tools import MOST_ANSWERS, MOST_ROWS, TOOLS, Call
from delayhub.client import AsyncClient
from tests.client_models import attempt_document, job_document


@pytest.mark.parametrize(("tool", "most"), [("look_at_job", MOST_ROWS), ("look_at_body", MOST_ANSWERS)])
@pytest.mark.parametrize("made", [0, 3, 10_000])
def test_of_many_attempts_the_last_ones_are_asked_for_in_one_request(tool: str, most: int, made: int) -> None:
    asked: list[dict[str, str]] = []

    def site(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/attempts"):
            return httpx.Response(200, json=job_document(attempts=made))
        asked.append(query := dict(request.url.params))
        first = int(query.get("cursor", 0)) + 1
        limit = int(query["limit"])
        numbers = range(first, made + 1)
        more = f"{request.url.copy_set_param('cursor', numbers[limit - 1])}" if len(numbers) > limit else None
        return httpx.Response(
            200, json={"next": more, "results": [attempt_document(number=number) for number in numbers[:limit]]}
        )

    async def call() -> Any:
        async with AsyncClient("https://delay.example", api_key="k", transport=httpx.MockTransport(site)) as client:
            return await TOOLS[tool].do(Call(client, {"job": job_document()["id"]}, "key"))

    found = anyio.run(call)

    assert len(asked) == 1
    if tool == "look_at_job":
        assert [each["number"] for each in found["tried"]] == [*range(max(1, made - most + 1), made + 1)]
