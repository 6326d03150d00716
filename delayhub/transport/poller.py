"""Which sockets the transport watches, and who is called when one can be read."""

from __future__ import annotations

import time
from contextlib import suppress
from queue import Empty
from typing import Any

from kombu.log import get_logger
from kombu.transport.redis import MultiChannelPoller
from kombu.utils.eventio import ERR, READ

from delayhub.transport.consuming.consumer import PERIOD
from delayhub.transport.redis_wire import RedisWire
from delayhub.transport.waking.bell import TIMEOUT_SECONDS
from delayhub.transport.waking.nudge import Nudge

logger = get_logger(__name__)

#: Seconds after which an unanswered claim means that its connection is dead.
CLAIM_PATIENCE = 10.0


class Poller(MultiChannelPoller):
    """kombu's poller, with our consumers in the place of its blocking pops; pub/sub stays kombu's.

    kombu's own skips handlers of channels without credit, so that an unread reply would spin; here every reply is read,
    and credit decides only whether to claim.
    """

    def __init__(self) -> None:
        super().__init__()
        #: The event loop, where there is one.
        self.hub: Any = None

    # ------------------------------------------------------------ watching

    def watch(self, channel: Any, wire: RedisWire, kind: str) -> None:
        """Calls the channel's handler of that kind when the wire's connection can be read."""
        sock = wire.socket
        if self._chan_to_sock.get((channel, wire, kind)) is sock:
            return
        # Looked up by kombu as (channel, client, kind), where client.connection is what it reads: a wire has one too.
        self._chan_to_sock[channel, wire, kind] = sock
        self._watch(channel, sock.fileno(), kind)

    def watch_nudges(self, channel: Any, nudge: Nudge) -> None:
        """Calls the channel's NUDGE handler when somebody wakes its consumer."""
        if nudge.fileno() not in self._fd_to_chan:
            self._watch(channel, nudge.fileno(), "NUDGE")

    def _watch(self, channel: Any, fileno: int, kind: str) -> None:
        self._fd_to_chan[fileno] = (channel, kind)
        if self.hub is None:
            self.poller.register(fileno, self.eventflags)
        else:
            self.hub.add_reader(fileno, self.on_readable, fileno)

    def unwatch(self, channel: Any) -> None:
        """Forgets all of a channel's descriptors; called before they are closed."""
        for key in [key for key in self._chan_to_sock if key[0] is channel]:
            del self._chan_to_sock[key]
        for fileno in [fileno for fileno, (owner, _) in self._fd_to_chan.items() if owner is channel]:
            del self._fd_to_chan[fileno]
            if self.hub is not None:
                self.hub.remove(fileno)
            else:
                with suppress(KeyError, ValueError, OSError):  # closed by the other side already
                    self.poller.unregister(fileno)

    @property
    def fds(self) -> dict[int, Any]:
        """Descriptors that the loop does not watch yet; kombu adds those at every tick."""
        known = self.hub.readers if self.hub is not None else ()
        return {fileno: found for fileno, found in self._fd_to_chan.items() if fileno not in known}

    # ------------------------------------------------------------ turns

    def on_poll_init(self, poller: Any) -> None:
        """kombu restores messages here; our claims do."""
        self.poller = poller

    def on_poll_start(self) -> None:
        """A turn of the loop begins."""
        for channel in list(self._channels):
            if channel.active_queues:
                channel.consumer.turn()
            elif channel.consuming:
                channel.consumer.idle()
            if channel.active_fanout_queues:
                self._register_LISTEN(channel)

    def on_readable(self, fileno: int) -> Any:
        """Something can be read; what, the handler knows."""
        found = self._fd_to_chan.get(fileno)
        if found is None:
            return None
        channel, kind = found
        return channel.handlers[kind]()

    def handle_event(self, fileno: int, event: int) -> bool:
        """Reads where there is something; whether a message was handed over."""
        return bool(event & (READ | ERR) and self.on_readable(fileno))

    def get(self, callback: Any, timeout: float | None = None) -> None:
        """Hands over what comes within the timeout, for callers without an event loop.

        Raises Empty where nothing does.
        """
        del callback  # messages go to the transport's callbacks
        self._in_protected_read = True
        try:
            self.maybe_refresh_binding_expiry()
            self.on_poll_start()
            for channel in list(self._channels):
                if channel.consuming and channel.consumer.deliver():
                    return
            delivered = False
            for fileno, event in self.poller.poll(self._patience(timeout)) or ():
                delivered = self.handle_event(fileno, event) or delivered
            if not delivered:
                self.maybe_check_brpop_health()
                raise Empty
        finally:
            self._in_protected_read = False
            while self.after_read:
                self.after_read.pop()()

    def _patience(self, timeout: float | None) -> float:
        now = time.monotonic()
        waits = [PERIOD if timeout is None else timeout, PERIOD]
        waits += [channel.consumer.next_claim_at - now for channel in self._channels if channel.consuming]
        return max(0.0, min(waits))

    # ------------------------------------------------------------ health

    def maybe_restore_messages(self) -> None:
        """Nothing to do: leases that run out come back with the next claim."""

    def maybe_check_brpop_health(self) -> None:
        """Drops connections whose reply is long overdue: the other side is gone and never said so."""
        now = time.monotonic()
        for channel in list(self._channels):
            if not channel.consuming:
                continue
            for wire, patience in (
                (channel.consumer.claims, CLAIM_PATIENCE),
                (channel.consumer.bell.wire, 2 * TIMEOUT_SECONDS),
            ):
                if wire.sent and wire.connection is not None and now - wire.sent_at > patience:
                    logger.warning("Redis has not answered for %.0f s; dropping the connection", now - wire.sent_at)
                    wire.connection.disconnect()
                    raise ConnectionError("Redis stopped answering")
