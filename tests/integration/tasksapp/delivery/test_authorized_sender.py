"""Callbacks that carry access tokens: what they get before they are sent, and what a refused token leads to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tasksapp.delivery.access_token import Grant
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.authorized_sender import AuthorizedSender
from tasksapp.delivery.callback import Callback
from tasksapp.delivery.outcomes import CallbackResult, Delivered, GiveUp, Retry, Returned
from tasksapp.delivery.sender import Sender
from tasksapp.delivery.token_keeper import TokenKeeper
from tests.callbacks import CLOCK, callback
from tests.integration.tasksapp.receiver import Answer, Receiver, answering
from tests.integration.tasksapp.token_server import Shared, bearers, giving, silent


def taking(*tokens: str, refusal: Answer | None = None) -> Answer:
    """Takes callbacks with those tokens and refuses the others."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization", "").removeprefix("Bearer ") in tokens:
            return web.Response(status=204)
        return await (refusal or answering(401))(request)

    return answer


@asynccontextmanager
async def sending_to(receiver: Receiver, server: Receiver) -> AsyncIterator[tuple[AuthorizedSender, Grant]]:
    """A sender, and what it asks that server with."""
    guard = AddressGuard(("127.0.0.0/8",))
    tokens = TokenKeeper(guard=guard, clock=CLOCK, share=Shared(), hold_seconds=30)
    plain = Sender(guard=guard, clock=CLOCK, response_bytes=100)
    sender = AuthorizedSender(plain, tokens=tokens, clock=CLOCK)
    try:
        yield (
            sender,
            Grant(url=server.url(), client_id="us", secret="hush", receiver=receiver.url(), lane="l", queue="q"),
        )
    finally:
        await sender.close()


def results(receiver: Receiver, server: Receiver, *, number: int = 1, rounds: int = 1, **fields: Any) -> list[Any]:
    """What becomes of so many callbacks at once, so many times, to a receiver that asks for tokens of that server."""

    async def run() -> list[CallbackResult]:
        found: list[CallbackResult] = []
        async with sending_to(receiver, server) as (sender, grant):
            for _ in range(rounds):
                made = [callback(receiver.url(), grant=grant, **fields) for _ in range(number)]
                found += await asyncio.gather(*(sender.send(one) for one in made))
                assert [result.callback for result in found[-number:]] == made
        return found

    return asyncio.run(run())


def test_callbacks_carry_the_token_and_no_record_shows_it(receiver: Receiver) -> None:
    receiver.answer = taking("token-1")
    with Receiver(answer=giving()) as server:
        found = results(receiver, server, number=20)

    assert {result.outcome for result in found} == {Delivered()}
    assert bearers(receiver) == ["token-1"] * 20
    assert len(server.received) == 1
    assert found[0].request is not None
    assert found[0].request.headers["Authorization"] == "Bearer (hidden)"


def test_the_wait_for_a_token_is_no_part_of_the_attempt(receiver: Receiver) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.6)
        return await giving()(request)

    with Receiver(answer=slow) as server:
        (result,) = results(receiver, server, timeout_seconds=0.5)

    assert result.outcome == Delivered()
    assert result.duration_ms < 500


def test_a_refused_token_is_replaced_once_for_all_within_their_attempts(receiver: Receiver) -> None:
    receiver.answer = taking("token-2")
    with Receiver(answer=giving()) as server:
        found = results(receiver, server, number=50)

    assert {result.outcome for result in found} == {Delivered()}
    assert len(server.received) == 2


def test_where_another_token_is_refused_too_the_attempt_has_failed_and_none_is_asked_for(receiver: Receiver) -> None:
    receiver.answer = answering(401)
    with Receiver(answer=giving()) as server:
        found = results(receiver, server, rounds=5)

    assert {result.outcome for result in found} == {Retry("status 401", kind="http.401")}
    assert len(server.received) == 2
    assert bearers(receiver) == ["token-1"] + ["token-2"] * 5


def test_a_callback_that_may_be_sent_once_is_not_sent_again_but_the_next_has_another_token(receiver: Receiver) -> None:
    receiver.answer = taking("token-2")
    with Receiver(answer=giving()) as server:
        first, second = results(receiver, server, rounds=2, at_most_once=True)

    assert first.outcome == Retry("status 401", kind="http.401")
    assert second.outcome == Delivered()
    assert bearers(receiver) == ["token-1", "token-2"]


def test_a_receiver_that_says_what_is_to_become_of_it_is_obeyed(receiver: Receiver) -> None:
    receiver.answer = taking(refusal=answering(401, DelayHub_Action="fail"))
    with Receiver(answer=giving()) as server:
        (result,) = results(receiver, server)

    assert result.outcome == GiveUp("the receiver said: fail")
    assert len(receiver.received) == 1


def test_where_there_is_no_token_nothing_is_sent_and_the_job_is_given_back(receiver: Receiver) -> None:
    with Receiver(answer=answering(503)) as server:
        (result,) = results(receiver, server)
        reason = f"no access token from 127.0.0.1:{server.port}: status 503"

    assert isinstance(result.outcome, Returned)
    assert (result.outcome.reason, result.outcome.is_fault, result.outcome.lacks_token) == (reason, False, True)
    assert 26 < result.outcome.after_seconds <= 27
    assert receiver.received == []
    assert result.started_ms == 0


def test_a_job_whose_lease_the_wait_has_used_up_is_given_back(receiver: Receiver) -> None:
    with Receiver(answer=giving()) as server:
        (result,) = results(receiver, server, lease_seconds=6.9)

    assert result.outcome == Returned("its lease was too short to begin")
    assert receiver.received == []


def test_a_worker_that_stops_while_a_token_is_waited_for_loses_nothing(receiver: Receiver) -> None:
    async def run(server: Receiver) -> CallbackResult:
        async with sending_to(receiver, server) as (sender, grant):
            one = callback(receiver.url(), grant=grant, at_most_once=True)
            waiting = asyncio.ensure_future(sender.send(one))
            await asyncio.to_thread(server.wait_for, 1)
            waiting.cancel()
            return await waiting

    with Receiver(answer=silent) as server:
        assert asyncio.run(run(server)).outcome == Returned("the worker is stopping")


def test_callbacks_without_a_grant_are_given_to_the_sender_itself() -> None:
    class Noting:
        def send(self, callback: Callback) -> Any:
            return f"sent {callback.job_id}"

    sender = AuthorizedSender(Noting(), tokens=None, clock=CLOCK)  # type: ignore[arg-type]  # neither is used

    assert sender.send(callback()) == "sent job-1"
