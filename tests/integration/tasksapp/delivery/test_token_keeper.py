"""Access tokens of one process and of several, against token servers that are good, slow, away and lying."""

from __future__ import annotations

import asyncio
import base64
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pytest
from aiohttp import web

from delayhub.local.redis_server import free_port
from tasksapp.delivery import token_keeper
from tasksapp.delivery.access_token import Grant, NoToken
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.token_keeper import FRESH_MS, TokenKeeper
from tests.integration.tasksapp.receiver import Receiver, answering
from tests.integration.tasksapp.token_server import Shared, giving, saying, silent

T = TypeVar("T")


@dataclass
class Time:
    """A clock whose time of day a test moves."""

    ms: int = 1_800_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


@dataclass
class Several:
    """Several processes, each with a keeper of its own, and what they share."""

    keepers: list[TokenKeeper]
    time: Time
    grant: Grant


def among(server: Receiver, act: Callable[[Several], Awaitable[T]], *, number: int = 1, **options: Any) -> T:
    """What the act gives back, with so many keepers that ask that server."""

    async def run() -> T:
        time, shared = Time(), Shared()
        guard = AddressGuard(options.pop("allowed", ("127.0.0.0/8",)))
        keepers = [
            TokenKeeper(guard=guard, clock=time, share=shared, hold_seconds=30, **options) for _ in range(number)
        ]
        grant = Grant(
            url=server.url("/token"), client_id="us", secret="hush", receiver="https://x", lane="l", queue="q"
        )
        try:
            return await act(Several(keepers, time, grant))
        finally:
            for keeper in keepers:
                await keeper.close()

    return asyncio.run(run())


def reason_of(server: Receiver, **options: Any) -> str:
    async def act(several: Several) -> str:
        with pytest.raises(NoToken) as raised:
            await several.keepers[0].token(several.grant)
        return raised.value.reason

    return among(server, act, **options)


async def settled(keeper: TokenKeeper) -> None:
    """Returns when nothing is under way."""
    flights = [held.flight for held in keeper._by_grant.values() if held.flight]
    await asyncio.gather(*flights, return_exceptions=True)


def test_however_many_want_a_token_one_is_asked_for_as_rfc_6749_says(receiver: Receiver) -> None:
    receiver.answer = giving()

    async def act(several: Several) -> set[str]:
        grant = replace(several.grant, client_id="a:b c", secret="p/%ä", fields=(("scope", "x y"),))
        found = await asyncio.gather(*(each.token(grant) for each in several.keepers for _ in range(100)))
        return {token.value for token in found}

    assert among(receiver, act, number=8) == {"token-1"}
    (got,) = receiver.received
    pair = base64.b64decode(got.headers["Authorization"].removeprefix("Basic ")).decode()
    assert pair == "a%3Ab+c:p%2F%25%C3%A4"
    assert got.body == b"scope=x+y&grant_type=client_credentials"
    assert got.headers["Content-Type"] == "application/x-www-form-urlencoded"


def test_a_client_may_stand_in_the_form(receiver: Receiver) -> None:
    receiver.answer = giving()

    async def act(several: Several) -> None:
        await several.keepers[0].token(replace(several.grant, in_form=True))

    among(receiver, act)
    assert receiver.received[0].body == b"grant_type=client_credentials&client_id=us&client_secret=hush"
    assert "Authorization" not in receiver.received[0].headers


def test_a_token_is_renewed_beside_its_use_by_one_process_and_the_others_find_it(receiver: Receiver) -> None:
    receiver.answer = giving(life=1_000)

    async def act(several: Several) -> list[list[str]]:
        seen = []
        # before the renewal, at its latest moment, and when it has come
        for seconds in (0, 600, 890, 890):
            several.time.ms = Time.ms + seconds * 1000
            seen.append([(await keeper.token(several.grant)).value for keeper in several.keepers])
            for keeper in several.keepers:
                await settled(keeper)
        return seen

    assert among(receiver, act, number=3) == [["token-1"] * 3, ["token-1"] * 3, ["token-1"] * 3, ["token-2"] * 3]
    assert len(receiver.received) == 2


def test_while_a_renewal_fails_the_token_goes_on_to_its_end(receiver: Receiver) -> None:
    receiver.answer = giving(life=1_000)

    async def act(several: Several) -> list[str]:
        (keeper,), found = several.keepers, []
        for seconds in (0, 890, 901, 930):
            several.time.ms = Time.ms + seconds * 1000
            found.append((await keeper.token(several.grant)).value)
            await settled(keeper)
            receiver.answer = answering(503)
        several.time.ms = Time.ms + 941_000
        with pytest.raises(NoToken, match="status 503"):
            await keeper.token(several.grant)
        return found

    assert among(receiver, act) == ["token-1"] * 4


def test_when_there_is_none_all_processes_hear_why_from_the_one_that_asked(receiver: Receiver) -> None:
    receiver.answer = saying({"error": "invalid_client", "error_description": "hush"}, status=401)

    async def act(several: Several) -> set[str]:
        found = await asyncio.gather(
            *(each.token(several.grant) for each in several.keepers for _ in range(10)), return_exceptions=True
        )
        again = await asyncio.gather(*(each.token(several.grant) for each in several.keepers), return_exceptions=True)
        several.time.ms += 28_000
        receiver.answer = giving()
        return {str(one) for one in [*found, *again]} | {(await several.keepers[0].token(several.grant)).value}

    host = f"127.0.0.1:{receiver.port}"
    assert among(receiver, act, number=4) == {
        f"no access token from {host}: status 401 (invalid_client)",
        "token-1",
    }
    assert len(receiver.received) == 2


def test_why_there_is_none_keeps_nothing_of_those_who_heard_it(receiver: Receiver) -> None:
    receiver.answer = answering(503)

    async def act(several: Several) -> list[int]:
        depths = []
        for _ in range(4):
            with pytest.raises(NoToken) as raised:
                await several.keepers[0].token(several.grant)
            depths.append(len(list(traceback.walk_tb(raised.value.__traceback__))))
        return depths[1:]

    assert len(set(among(receiver, act))) == 1


def test_a_token_server_that_is_away_silent_or_not_allowed_gives_a_reason(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_keeper, "ANSWER_SECONDS", 0.2)

    receiver.answer = silent
    away = Receiver(port=free_port())
    host = f"127.0.0.1:{receiver.port}"

    assert reason_of(receiver) == f"no access token from {host}: no whole answer within 0.2 s"
    assert reason_of(away).endswith(": the request failed (refused)")
    assert reason_of(receiver, allowed=()).endswith(": the request failed (address)")


def test_no_redirect_is_followed(receiver: Receiver) -> None:
    with Receiver(answer=giving()) as inwards:
        receiver.answer = answering(302, Location=inwards.url("/token"))

        assert reason_of(receiver).endswith(": status 302: redirects are not followed")
        assert inwards.received == []


def test_of_a_flood_only_its_beginning_is_read(receiver: Receiver) -> None:
    receiver.answer = saying(b" " * 10_000_000)

    assert reason_of(receiver).endswith(": its answer has more than 65536 bytes")


def test_what_no_http_answer_is_repeats_nothing(receiver: Receiver) -> None:
    async def odd(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.write(b"HTTP/1.1 hush hush\r\n\r\n")
        request.transport.close()
        return web.Response()

    receiver.answer = odd

    assert reason_of(receiver).endswith(": the request failed (protocol)")


def test_who_tries_whether_it_works_again_does_not_hear_of_the_last_failure(receiver: Receiver) -> None:
    receiver.answer = answering(503)

    async def act(several: Several) -> str:
        with pytest.raises(NoToken):
            await several.keepers[0].token(several.grant)
        receiver.answer = giving()
        return (await several.keepers[1].token(several.grant)).value

    assert among(receiver, act, number=2, insists=True) == "token-1"


def test_another_secret_scope_or_address_drops_the_token(receiver: Receiver) -> None:
    receiver.answer = giving()

    async def act(several: Several) -> list[str]:
        first = several.grant
        others = [
            first,
            replace(first, secret="new"),
            replace(first, fields=(("scope", "orders"),)),
            replace(first, url=f"{first.url}/2"),
            replace(first, receiver="https://y"),
            replace(first, client_id="them"),
        ]
        return [(await several.keepers[0].token(grant)).value for grant in [*others, others[-1]]]

    assert among(receiver, act) == [*(f"token-{number}" for number in range(1, 7)), "token-6"]


def test_a_refused_token_is_replaced_once_for_all_and_then_not_for_a_minute(receiver: Receiver) -> None:
    receiver.answer = giving()

    async def act(several: Several) -> list[Any]:
        keepers, grant = several.keepers, several.grant
        first = [await keeper.token(grant) for keeper in keepers]
        several.time.ms += 5
        dropped = [keeper.drop(grant, token) for keeper, token in zip(keepers, first, strict=True) for _ in range(50)]
        second = await asyncio.gather(*(keeper.token(grant) for keeper in keepers for _ in range(50)))
        late = keepers[0].drop(grant, first[0])
        several.time.ms += FRESH_MS - 1
        again = [keeper.drop(grant, second[0]) for keeper in keepers]
        several.time.ms += 1
        return [set(dropped), {token.value for token in second}, late, again, keepers[0].drop(grant, second[0])]

    assert among(receiver, act, number=3) == [{True}, {"token-2"}, True, [False] * 3, True]
    assert len(receiver.received) == 2
