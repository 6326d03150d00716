"""Which sockets the transport watches, and which handler is called when one can be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from queue import Empty
from typing import Any, Protocol

from kombu.utils.eventio import ERR, READ, poll

from delayhub.transport import kombu_versions
from delayhub.transport.redis_wire import RedisWire
from delayhub.transport.waking.event_loop import EventLoop
from delayhub.transport.waking.nudge import Nudge

#: Seconds that one poll without an event loop lasts at most, so that channels are looked at again.
LONGEST_POLL = 1.0


class PolledConsumer(Protocol):
    """What the poller needs of a channel's consumer."""

    @property
    def next_claim_at(self) -> float:
        """When it wants to claim again, on the monotonic clock."""

    def take_turn(self) -> None:
        """Called at every turn of the loop: claims, where it is time."""

    def deliver(self) -> bool:
        """Hands over messages that it has; whether there were any."""

    def require_replies(self) -> None:
        """Raises ConnectionError where Redis stopped answering."""


class PolledChannel(Protocol):
    """What the poller needs of a channel, beside what kombu's own poller does with it."""

    @property
    def consumer(self) -> PolledConsumer | None:
        """What claims for the channel; None until it consumes."""

    @property
    def handlers(self) -> Mapping[str, Callable[[], object]]:
        """What is called when a connection of that kind can be read."""

    @property
    def active_fanout_queues(self) -> Collection[str]:
        """Queues that kombu's pub/sub serves."""


class Poller(kombu_versions.Poller):
    """kombu's poller with our consumers in place of its blocking pops; pub/sub stays kombu's.

    kombu's own skips handlers of channels without credit, so that an unread reply would wake it again at once; here
    every reply is read, and credit decides only whether to claim.

    Its descriptor (epoll, kqueue) is opened by the first poll and closed with the connection. kombu's own is opened
    with each transport, also one that only publishes or is never connected, and closed by the garbage collector.
    """

    _channels: set[PolledChannel]
    _chan_to_sock: dict[tuple[PolledChannel, Any, str], Any]
    _fd_to_chan: dict[int, tuple[PolledChannel, str]]

    def __init__(self) -> None:
        self._poller: Any = None
        self._is_own = True
        super().__init__()
        self._close_poller()
        #: The event loop; None where callers poll by themselves (``drain_events``).
        self.hub: EventLoop | None = None

    # ------------------------------------------------------------ its descriptor

    @property
    def poller(self) -> Any:
        """The event loop's poller, or one of its own, which is opened at first use."""
        if self._poller is None:
            self._poller, self._is_own = poll(), True
        return self._poller

    @poller.setter
    def poller(self, given: Any) -> None:
        self._poller = given

    def close(self) -> None:
        """Forgets all channels and closes its descriptor. It can be used again."""
        if self._poller is not None:  # else nothing is registered
            super().close()
        self._channels.clear()
        self._close_poller()

    def _close_poller(self) -> None:
        if self._poller is not None and self._is_own:
            self._poller.close()
            self._poller = None

    def _on_connection_disconnect(self, connection: Any) -> None:
        if self._poller is not None:
            super()._on_connection_disconnect(connection)

    # ------------------------------------------------------------ watching

    def watch(self, channel: PolledChannel, wire: RedisWire, kind: str) -> None:
        """Calls the channel's handler of that kind when the wire's connection can be read."""
        sock = wire.socket
        if self._chan_to_sock.get((channel, wire, kind)) is sock:
            return
        # Looked up by kombu as (channel, client, kind), where client.connection is what it reads: a wire has one too.
        self._chan_to_sock[channel, wire, kind] = sock
        self._watch(channel, sock.fileno(), kind)

    def watch_nudges(self, channel: PolledChannel, nudge: Nudge) -> None:
        """Calls the channel's NUDGE handler when its consumer is nudged."""
        if nudge.fileno() not in self._fd_to_chan:
            self._watch(channel, nudge.fileno(), "NUDGE")

    def unwatch(self, channel: PolledChannel) -> None:
        """Forgets all of a channel's descriptors; called before they are closed."""
        for key in [key for key in self._chan_to_sock if key[0] is channel]:
            del self._chan_to_sock[key]
        for fileno in [fileno for fileno, (owner, _) in self._fd_to_chan.items() if owner is channel]:
            self._forget(fileno)

    def unwatch_kind(self, channel: PolledChannel, kind: str) -> None:
        """Forgets a channel's descriptors of one kind, also where they are closed already."""
        for key in [key for key in self._chan_to_sock if key[0] is channel and key[2] == kind]:
            del self._chan_to_sock[key]
        found = [fileno for fileno, owner in self._fd_to_chan.items() if owner == (channel, kind)]
        for fileno in found:
            self._forget(fileno)

    def _forget(self, fileno: int) -> None:
        del self._fd_to_chan[fileno]
        if self.hub is not None:
            self.hub.remove(fileno)
        elif self._poller is not None:
            with suppress(KeyError, ValueError, OSError):  # closed by the other side already
                self.poller.unregister(fileno)

    def _watch(self, channel: PolledChannel, fileno: int, kind: str) -> None:
        self._fd_to_chan[fileno] = (channel, kind)
        if self.hub is None:
            self.poller.register(fileno, self.eventflags)
        else:
            self.hub.add_reader(fileno, self.on_readable, fileno)

    @property
    def fds(self) -> dict[int, tuple[PolledChannel, str]]:
        """Descriptors that the loop does not watch yet; kombu adds those at every turn."""
        known = self.hub.readers if self.hub is not None else ()
        return {fileno: found for fileno, found in self._fd_to_chan.items() if fileno not in known}

    # ------------------------------------------------------------ turns

    def on_poll_init(self, poller: Any) -> None:
        """Takes the event loop's poller; kombu restores messages here, which our claims do."""
        self._close_poller()
        self._poller, self._is_own = poller, False

    def on_poll_start(self) -> None:
        """A turn of the loop begins."""
        for channel in list(self._channels):
            if channel.consumer is not None:
                channel.consumer.take_turn()
            if channel.active_fanout_queues:
                self._register_LISTEN(channel)

    def on_readable(self, fileno: int) -> object:
        """Calls the handler of a descriptor that can be read; gives back what the handler does."""
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

        Raises:
            Empty: nothing came.
            ConnectionError: Redis stopped answering.
        """
        del callback  # messages go to the transport's callbacks
        self._in_protected_read = True
        try:
            self.maybe_refresh_binding_expiry()
            self.on_poll_start()
            for channel in list(self._channels):
                if channel.consumer is not None and channel.consumer.deliver():
                    return
            delivered = False
            for fileno, event in self.poller.poll(self._poll_seconds(timeout)) or ():
                delivered = self.handle_event(fileno, event) or delivered
            if not delivered:
                self.maybe_check_brpop_health()
                raise Empty
        finally:
            self._in_protected_read = False
            while self.after_read:
                self.after_read.pop()()

    def _poll_seconds(self, timeout: float | None) -> float:
        now = time.monotonic()
        waits = [LONGEST_POLL if timeout is None else timeout, LONGEST_POLL]
        waits += [channel.consumer.next_claim_at - now for channel in self._channels if channel.consumer is not None]
        return max(0.0, min(waits))

    # ------------------------------------------------------------ health

    def maybe_restore_messages(self) -> None:
        """Nothing to do: leases that run out come back with the next claim."""

    def maybe_check_brpop_health(self) -> None:
        """Drops connections whose reply is long overdue. Raises ConnectionError where one was."""
        for channel in list(self._channels):
            if channel.consumer is not None:
                channel.consumer.require_replies()
