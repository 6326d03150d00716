"""What kombu 5.7 has and 5.5 and 5.6 lack, so that the transport is written once and runs on all three.

On 5.7 the names below are kombu's own. On older versions:

- queues expire (``x-expires``) and consumed queues have an order, by :class:`OlderChannel`;
- bindings do not expire, lost connections are forgotten, and overdue replies are looked for, by :class:`OlderPoller`;
- there are no batches (``Producer.batch``), so nothing asks for a :class:`PublishBatch`.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import redis as kombu_redis
from kombu.transport.base import to_rabbitmq_queue_arguments

from delayhub.transport.waking.event_loop import EventLoop

#: Whether kombu's producers publish in batches.
HAS_BATCHES = hasattr(kombu_redis, "PublishBatch")
#: Whether kombu's channels know that queues expire.
HAS_EXPIRY = hasattr(kombu_redis.Channel, "_get_queue_expire")
#: The script by which kombu's channels put off the end of a binding.
REFRESH_BINDING = getattr(kombu_redis, "REFRESH_BINDING", "")
#: Whether kombu's poller looks after its connections by itself.
HAS_CARE = hasattr(kombu_redis.MultiChannelPoller, "maybe_refresh_binding_expiry")


class OlderChannel(kombu_redis.Channel):
    """The channel of kombu 5.5 and 5.6, with what ours uses of 5.7's."""

    keyprefix_binding_permanent = "_kombu.binding_permanent.%s"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._expires: dict[str, int] = {}
        super().__init__(*arguments, **options)

    @property
    def active_queues(self) -> list[str]:
        """The queues that are consumed, without those of fanout exchanges, in the order in which that began."""
        return [queue for queue in dict.fromkeys(self._active_queues) if queue not in self.active_fanout_queues]

    def prepare_queue_arguments(self, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
        """A queue's arguments, with its options (``expires`` …) under the names that arguments have."""
        prepared: dict[str, Any] = to_rabbitmq_queue_arguments(arguments, **options)
        return prepared

    def _new_queue(self, queue: str, auto_delete: bool = False, **options: Any) -> None:
        super()._new_queue(queue, auto_delete=auto_delete, **options)
        try:
            self._expires[queue] = int(options["arguments"]["x-expires"])
        except (KeyError, TypeError, ValueError):
            self._expires.pop(queue, None)


class OlderPoller(kombu_redis.MultiChannelPoller):
    """The poller of kombu 5.5 and 5.6, with what ours uses of 5.7's."""

    _brpop_health_tref: Any = None

    def maybe_refresh_binding_expiry(self) -> None:
        """Nothing to do: on these versions bindings do not expire."""

    def care_in(self, loop: EventLoop, *, seconds: float) -> None:
        """Has the loop look for overdue replies, and forget connections that are lost while it goes on."""
        self._brpop_health_tref = loop.call_repeatedly(seconds, self.maybe_check_brpop_health)

        def forget(connection: Any) -> None:
            lost = {key for key in self._chan_to_sock if key[1].connection is connection}
            for key in lost:
                del self._chan_to_sock[key]
            kinds = {(channel, kind) for channel, _, kind in lost}
            for fileno in [fileno for fileno, found in self._fd_to_chan.items() if found in kinds]:
                loop.remove(fileno)
                del self._fd_to_chan[fileno]

        # In place of kombu's own, after which the loop no longer calls the poller: it would claim nothing more.
        self._on_connection_disconnect = forget


Channel: Any = kombu_redis.Channel if HAS_EXPIRY else OlderChannel
Poller: Any = kombu_redis.MultiChannelPoller if HAS_CARE else OlderPoller
PublishBatch: Any = kombu_redis.PublishBatch if HAS_BATCHES else object
