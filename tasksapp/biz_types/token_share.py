"""RedisTokenShare: the access tokens that the processes of a site share, sealed, in the lane of their biz type."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import TypeVar

from delayhub.clock import Clock
from delayhub.engine.entry import text
from delayhub.engine.keys import QueueKeys
from tasksapp.delivery.access_token import AccessToken, Grant, NoToken
from tasksapp.errors import AWAY
from tasksapp.models.encrypted_text import SecretUnreadable, open_sealed, seal
from tasksapp.timers.lanes import patient_lane

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: After Redis did not answer, it is not asked for so long.
SILENT_SECONDS = 5.0


class RedisTokenShare:
    """A token, or why there is none, for each biz type that asks for one.

    While Redis does not answer, each process asks for itself.

    Args:
        clock: Redis' time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._silent_until = 0.0

    def look(self, grant: Grant) -> AccessToken | NoToken | None:
        """What a process has left for that very grant; None for nothing."""
        sealed = self._tried(lambda: patient_lane(grant.lane).client.get(_keys(grant).access_token))
        if not isinstance(sealed, bytes | str):
            return None
        try:
            found = json.loads(open_sealed(text(sealed)))
        except SecretUnreadable:
            return None  # of a process that has other keys already, or still
        if found.pop("digest") != grant.digest:
            return None  # of a process that knows an older state of the biz type, or a newer one
        return AccessToken(**found) if "value" in found else NoToken(**found)

    def lock(self, grant: Grant, *, seconds: float) -> bool:
        """Whether this process asks; the lock goes by itself if it dies meanwhile."""

        def take() -> bool:
            lane, key = patient_lane(grant.lane), _keys(grant).token_lock
            return bool(lane.client.set(key, "1", nx=True, px=round(seconds * 1000)))

        return self._tried(take) is not False

    def leave(self, grant: Grant, found: AccessToken | NoToken | None) -> None:
        """Leaves it until its end, and frees the lock."""

        def put() -> None:
            keys = _keys(grant)
            with patient_lane(grant.lane).client.pipeline(transaction=False) as pipeline:
                if found is not None:
                    pipeline.set(keys.access_token, self._sealed(grant, found), px=self._life_ms(found))
                pipeline.delete(keys.token_lock)
                pipeline.execute()

        self._tried(put)

    def _tried(self, call: Callable[[], T]) -> T | None:
        """What the call gives back; None where Redis does not answer, or did not a moment ago.

        It waits longer than what arms timers, and does not rest with that: of many processes on a busy machine some
        would take Redis to be away, and ask for tokens of their own.
        """
        if self._clock.monotonic() < self._silent_until:
            return None
        try:
            return call()
        except AWAY as error:
            self._silent_until = self._clock.monotonic() + SILENT_SECONDS
            logger.warning("access tokens are not shared now: %s", error, extra={"action": "token"})
            return None

    def _sealed(self, grant: Grant, found: AccessToken | NoToken) -> str:
        kept = found._asdict() if isinstance(found, AccessToken) else vars(found)
        return seal(json.dumps({"digest": grant.digest, **kept}))

    def _life_ms(self, found: AccessToken | NoToken) -> int:
        ends_ms = found.ends_ms if isinstance(found, AccessToken) else found.until_ms
        return max(1_000, ends_ms - self._clock.now_ms())


def _keys(grant: Grant) -> QueueKeys:
    return patient_lane(grant.lane).keys.queue(grant.queue)
