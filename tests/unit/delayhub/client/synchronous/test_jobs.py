"""How the end of a job is waited for, by this client and that for TypeScript; the asynchronous one only awaits."""

from __future__ import annotations

import pytest

from delayhub.client.synchronous import jobs
from tests.answering_site import Site, ok, refused
from tests.client_models import job_document


@pytest.mark.usefixtures("over")
def test_without_a_place_to_wait_in_the_job_is_read_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(jobs.time, "sleep", pauses.append)
    running, done = job_document(), {**job_document(), "status": "succeeded"}
    no_room = [refused(429, code="too_many_waits", Retry_After="5") for _ in range(2)]
    site = Site(ok(running), no_room[0], ok(running), no_room[1], ok(done))

    assert site.client().jobs.wait("1", timeout_seconds=60).status == "succeeded"

    assert [request.url.params.get("wait") for request in site.asked] == [None, "15", None, "15", None]
    assert len(pauses) == 1
    assert pauses[0] <= jobs.POLL_SECONDS
