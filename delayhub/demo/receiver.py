"""A receiver of callbacks: checks each signature, fails as often as the sample says, and logs what it received.

``python -m delayhub.demo.receiver --port 8001 --log received.jsonl``, with the signing secret in the environment
variable ``DELAYHUB_RECEIVER_SECRET``.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from aiohttp import web
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from delayhub.clock import SystemClock
from delayhub.demo.samples import SAMPLES, SampleBizType

SECRET_VARIABLE = "DELAYHUB_RECEIVER_SECRET"  # noqa: S105  the variable's name, not its value


@dataclass(frozen=True, slots=True)
class Received:
    """One callback as the receiver saw it.

    Args:
        job_id: the header ``webhook-id``.
        biz_type: from the address.
        at_ms: when it came in, in Unix ms.
        verified: whether the signature is right.
        status: the status code of the answer.
    """

    job_id: str
    biz_type: str
    at_ms: int
    verified: bool
    status: int


class Receiver:
    """Answers callbacks at ``/hooks/<biz type>``: 401 to a wrong signature, else as the biz type's sample says.

    Args:
        secret: ``whsec_`` and base64, as Standard Webhooks has it.
        log: gets one JSON line per callback, written at once.
    """

    def __init__(self, *, secret: str, log: IO[str]) -> None:
        self._webhook = Webhook(secret)
        self._log = log
        self._clock = SystemClock()
        self._times_seen: Counter[str] = Counter()

    def application(self) -> web.Application:
        """The aiohttp application."""
        application = web.Application()
        application.router.add_get("/healthz", self._healthz)
        for sample in SAMPLES:
            application.router.add_post(sample.path, self._hook_of(sample))
        return application

    def answer(self, sample: SampleBizType, headers: Mapping[str, str], body: bytes) -> Received:
        """The answer to a callback: 401, 204, 503 for a fault that will pass, or 500 for one that stays."""
        at_ms = self._clock.now_ms()
        job_id = headers.get("webhook-id", "")
        verified = self._is_signed(headers, body)
        if verified:
            self._times_seen[job_id] += 1
        if not verified:
            status = 401
        elif sample.failures is None:
            status = 500
        else:
            status = 503 if self._times_seen[job_id] <= sample.failures else 204
        return Received(job_id, sample.code, at_ms, verified, status)

    def _hook_of(self, sample: SampleBizType) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def hook(request: web.Request) -> web.Response:
            received = self.answer(sample, request.headers, await request.read())
            self._log.write(json.dumps(asdict(received)) + "\n")
            self._log.flush()
            return web.Response(status=received.status)

        return hook

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    def _is_signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        try:
            self._webhook.verify(body, {name.lower(): value for name, value in headers.items()})
        except (WebhookVerificationError, ValueError):
            # ValueError: the signature is right and the body is not JSON. The samples send only JSON.
            return False
        return True


def read_received(log: Path) -> Iterator[Received]:
    """The callbacks in a receiver's log, oldest first; leaves out a last line that is not written to its end."""
    if not log.exists():
        return
    with log.open() as lines:
        for line in lines:
            if line.endswith("\n"):
                yield Received(**json.loads(line))


def main() -> None:
    """Receives callbacks until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m delayhub.demo.receiver", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True, help="where to listen, on 127.0.0.1")
    parser.add_argument("--log", type=Path, required=True, help="the file that gets a JSON line per callback")
    given = parser.parse_args()
    with given.log.open("a", buffering=1) as log:
        receiver = Receiver(secret=os.environ[SECRET_VARIABLE], log=log)
        web.run_app(receiver.application(), host="127.0.0.1", port=given.port, print=None)


if __name__ == "__main__":
    main()
