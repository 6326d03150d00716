"""Plays histories on a site: many jobs at a time, and of each its clients at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from delayhub.clock import SystemClock, moment
from proof.order.drawing import Beginning, Plan, Turn
from proof.order.event import Answer, Asked, Event
from proof.order.explaining import explained
from proof.order.job import LIVE, PENDING
from proof.order.receiver import Receiver
from proof.order.site import LATER_SECONDS, OrderSite
from tests.web_server import BIZ_TYPE, KEY

#: Jobs that are played with at the same time: enough to keep the site busy, few enough that verbs of one job meet.
AT_ONCE = 8
#: How long a job may take to come to rest, on a machine that is busy with other things.
PATIENCE_SECONDS = 300.0
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Played:
    """A history that was played."""

    plan: Plan
    events: Sequence[Event]

    @property
    def is_explained(self) -> bool:
        """Whether some order gives these answers."""
        return explained(self.events)


async def play_all(
    site: OrderSite, receiver: Receiver, plans: Sequence[Plan], *, heard: Callable[[Played], None]
) -> list[Played]:
    """Plays them; the site calls that receiver. Each is heard of as soon as it is over."""
    turns = asyncio.Semaphore(AT_ONCE)
    limits = httpx.Limits(max_connections=None)
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(headers=headers, timeout=60, limits=limits, verify=False, trust_env=False) as http:

        async def play(plan: Plan) -> Played:
            async with turns:
                one = await _History(site, receiver, plan, http).play()
            heard(one)
            return one

        return list(await asyncio.gather(*map(play, plans)))


class _Known:
    """What a client knows of the job."""

    def __init__(self, etag: str = "", version: int | None = None) -> None:
        self.etag, self.version = etag, version

    def hear(self, answer: Answer) -> None:
        """Remembers the state that an answer names."""
        self.etag = answer.etag or self.etag
        self.version = self.version if answer.version is None else answer.version


class _History:
    """One history, while it is played."""

    def __init__(self, site: OrderSite, receiver: Receiver, plan: Plan, http: httpx.AsyncClient) -> None:
        self.site, self.receiver, self.plan, self.http = site, receiver, plan, http
        self.biz_id = f"history-{plan.seed}"
        self.job_id = ""
        self.events: list[Event] = []
        receiver.replies[plan.seed] = plan.replies

    async def play(self) -> Played:
        known = await self._begin()
        clients = (self._turns(f"client {number}", turns, known) for number, turns in enumerate(self.plan.clients, 1))
        await asyncio.gather(*clients)
        await self._rest()
        await self._ask("reader", Turn("read", True, "", 0.0, 0), _Known())
        return Played(self.plan, [*self.events, *self.receiver.events[self.plan.seed]])

    async def _begin(self) -> _Known:
        """Brings the job to where it begins; what everybody knows then."""
        beginning, known = self.plan.beginning, _Known()
        if beginning is Beginning.NOT_THERE:
            return known
        await self._ask("first", Turn("create", False, "", 0.0, 0), known)
        if beginning in (Beginning.DEAD, Beginning.RETRYING):
            await self._rest()
            await self._ask("first", Turn("read", False, "", 0.0, 0), known)
        return known

    async def _turns(self, who: str, turns: Sequence[Turn], known: _Known) -> None:
        own = _Known(known.etag, known.version)
        for turn in turns:
            await asyncio.sleep(turn.pause)
            await self._ask(who, turn, own)

    async def _rest(self) -> None:
        """Waits until no worker will change the job any more."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        shown: Any = None
        while time.monotonic() < deadline:
            answer = await self.http.get(f"{self.site.addresses[0]}{self._path(by_key=True)}")
            shown = answer.json()
            if answer.status_code == 404 or shown["status"] not in LIVE:
                return
            if shown["status"] == PENDING and shown["next_run_at"] > _in(LATER_SECONDS / 2):
                return
            await asyncio.sleep(LOOK_SECONDS)
        raise TimeoutError(f"history {self.plan.seed} does not come to rest: {shown}")

    async def _ask(self, who: str, turn: Turn, known: _Known) -> None:
        by_key = turn.verb in ("read", "cancel", "run", "patch", "redrive", "drop") and (turn.by_key or not self.job_id)
        asked = self._asked(turn, known, by_key=by_key)
        method, path, body = self._request(asked)
        headers = {"If-Match": asked.if_match} if asked.if_match else {}
        address = self.site.addresses[turn.draw // 7 % len(self.site.addresses)]
        began = time.monotonic()
        response = await self.http.request(method, address + path, json=body, headers=headers)
        ended = time.monotonic()
        shown = response.json()
        answer = self._answer(asked, response, shown)
        known.hear(answer)
        if asked.verb == "create" and response.is_success:
            self.job_id = shown["id"]
        self.events.append(Event(who=who, asked=asked, answer=answer, began=began, ended=ended))

    def _asked(self, turn: Turn, known: _Known, *, by_key: bool) -> Asked:
        draw = turn.draw
        fields: dict[str, Any] = {}
        if turn.verb == "create":
            fields = {"body": 1 + (draw % 3 == 1), "delay": self._first_delay}
        elif turn.verb == "patch":
            what = draw % 4
            fields = {"body": 10 + draw // 4 % 2} if what < 3 else {}
            fields |= {"delay": 0 if draw // 8 % 2 else LATER_SECONDS} if what > 1 else {}
        elif turn.verb == "redrive":
            fields = {"lift": draw % 4 == 0}
        if turn.verb in ("cancel", "run", "patch", "redrive", "drop"):
            if turn.condition == "if_match":
                fields["if_match"] = known.etag
            elif turn.condition == "version":
                fields["version"] = known.version
        return Asked(verb=turn.verb, by_key=by_key, **fields)

    @property
    def _first_delay(self) -> int:
        if self.plan.beginning is Beginning.NOT_THERE:
            return LATER_SECONDS if self.plan.seed % 2 else 0
        return LATER_SECONDS if self.plan.beginning is Beginning.WAITING else 0

    def _path(self, *, by_key: bool) -> str:
        return f"/api/v1/biz-types/{BIZ_TYPE}/jobs/{quote(self.biz_id)}" if by_key else f"/api/v1/jobs/{self.job_id}"

    def _request(self, asked: Asked) -> tuple[str, str, Any]:
        written = None if asked.body is None else {"history": self.plan.seed, "mark": asked.body}
        path = self._path(by_key=asked.by_key)
        match asked.verb:
            case "create":
                fields = {"biz_type": BIZ_TYPE, "biz_id": self.biz_id, "delay": asked.delay, "body": written}
                return "POST", "/api/v1/jobs", {**fields, "idempotency_key": self.biz_id}
            case "resolve" | "lift":
                end = "/lift" if asked.verb == "lift" else ""
                return "POST", f"/api/v1/resolve{end}", {"biz_types": [BIZ_TYPE], "biz_id": self.biz_id}
            case "read":
                return "GET", path, None
        given = {"version": asked.version, "delay": asked.delay, "body": written, "lift": asked.lift or None}
        body = {name: value for name, value in given.items() if value is not None}
        return ("PATCH", path, body) if asked.verb == "patch" else ("POST", f"{path}/{asked.verb}", body)

    def _answer(self, asked: Asked, response: httpx.Response, shown: Any) -> Answer:
        etag = response.headers.get("ETag", "")
        if not response.is_success:
            said = {name: shown.get(name) for name in ("code", "state")}
            return Answer(
                status=response.status_code, code=said["code"] or "", etag=etag, job=said["state"] or "",
                version=shown.get("version"),
            )  # fmt: skip
        if asked.verb in ("resolve", "lift"):
            cancelled, running = (bool(shown.get(name)) for name in ("cancelled", "running"))
            return Answer(status=response.status_code, cancelled=cancelled, running=running)
        return Answer(
            status=response.status_code, etag=etag, job=shown["status"], version=shown["version"],
            body=shown["body"]["mark"],
        )  # fmt: skip


def _in(seconds: float) -> str:
    return moment(SystemClock().now_ms() + int(seconds * 1000)).isoformat()
