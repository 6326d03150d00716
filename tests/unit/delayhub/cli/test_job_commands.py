"""Exit codes of what is done to jobs."""

from __future__ import annotations

import httpx
import pytest

from delayhub.cli import session
from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.main import main
from delayhub.client import Client


@pytest.mark.parametrize(("accepted", "code"), [(True, ExitCode.OK), (False, ExitCode.UNAVAILABLE)])
def test_a_resolve_that_has_to_be_asked_for_again_has_not_ended_well(
    accepted: bool, code: ExitCode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = {
        "biz_id": "order-42", "biz_types": ["order.close"], "accepted": accepted, "cancelled": [],
        "running": [] if accepted else None, "detail": "" if accepted else "ask again",
    }  # fmt: skip

    def client(url: str, *, api_key: str) -> Client:
        said = httpx.Response(200 if accepted else 202, json=answer)
        return Client(url, api_key=api_key, transport=httpx.MockTransport(lambda request: said))

    monkeypatch.setenv("DELAYHUB_URL", "http://site.example")
    monkeypatch.setenv("DELAYHUB_API_KEY", "k")
    monkeypatch.setattr(session, "Client", client)

    assert main(["jobs", "resolve", "order.close", "--biz-id", "order-42", "--yes"]) == code
    assert ("ask again" in capsys.readouterr().out) is not accepted
