"""The transport's own options, taken from kombu's ``transport_options``; all others are kombu's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from types import NoneType
from typing import Any

from kombu.log import get_logger
from kombu.transport import redis as kombu_redis

from delayhub.engine import EngineOptions
from delayhub.errors import OptionError
from delayhub.transport.hooks import HOOKS_OPTION

logger = get_logger(__name__)

#: Messages that a consumer claims at once when its prefetch count is unlimited.
UNLIMITED_CLAIM = 100

#: How often a consumer may lose its lease while it reports that a message is dead; then the message is dead unreported.
REPORT_ATTEMPTS = 3

#: Seconds after which a server that does not answer counts as gone, and the connection is made again. Redis answers
#: within milliseconds; a publish that is sent again after this still returns, or fails, within five seconds or so.
ANSWER_SECONDS = 3.0
#: Seconds for connecting: longer than the four for which Celery lets kombu try again, so that it tries only once.
CONNECT_SECONDS = 5.0

#: Names that kombu reads: its Redis channels, its connections, its virtual transports.
KOMBU_OPTIONS = frozenset(
    {
        *kombu_redis.SentinelChannel.from_transport_options,
        *("max_retries", "interval_start", "interval_step", "interval_max", "connect_retries_timeout"),
        *("callback", "errback", "polling_interval", "reauth_check_interval"),
    }
)
#: Options of kombu's that only one value can have here, and why.
REFUSED: Mapping[str, tuple[Any, str]] = {
    "queue_order_strategy": (
        "round_robin",
        "queues take turns. Give a queue that must not wait workers of its own, or give its tasks priorities",
    ),
    "ack_emulation": (True, "a message belongs to its worker until it is acknowledged. For less, use acks_late=False"),
}

#: What options of these types are called; a truth value is no number here, and the other way round.
KINDS: dict[str, tuple[set[type], str]] = {
    "float": ({int, float}, "a number"),
    "float | None": ({int, float, NoneType}, "a number, or None"),
    "int": ({int}, "a whole number"),
    "bool": ({bool}, "True or False"),
    "str": ({str}, "a text"),
}

#: Names that were logged in this process.
_logged: set[str] = set()


@dataclass(frozen=True, kw_only=True, slots=True)
class TransportOptions:
    """How messages are claimed and held.

    Args:
        lease_seconds: how long a claimed message belongs to its consumer; renewed at a third while it is held.
        max_strikes: leases that may run out before a message is dead.
        max_hold_seconds: a message that is held longer is no longer renewed, for workers that hang; None for no limit.
        check_redis: whether a worker refuses a Redis server that loses tasks (evicts keys, is too old, is a replica).
        wait_replicas: how many replicas must have a message before its publish returns.
        wait_seconds: how long a publish waits for them.
        wait_replicas_missing: ``raise`` (NotReplicated) or ``warn`` (a line in the log) where too few have it in time.
        failover_seconds: on a cluster, how long a command is tried again while its slot has no master or moves.
        compact: whether messages are stored in a short form, which no other transport can read.
        key_prefix: put before every Redis key (kombu's ``global_keyprefix``).

    Raises:
        OptionError: a value is of another type, or cannot work.
    """

    lease_seconds: float = 30.0
    max_strikes: int = 16
    max_hold_seconds: float | None = None
    check_redis: bool = True
    wait_replicas: int = 0
    wait_seconds: float = 1.0
    wait_replicas_missing: str = "raise"
    failover_seconds: float = 10.0
    compact: bool = False
    key_prefix: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, (kinds, wanted) = getattr(self, field.name), KINDS[str(field.type)]
            if type(value) not in kinds:
                raise OptionError(f"{field.name} must be {wanted}, got {value!r}")
        if self.max_hold_seconds is not None and not self.max_hold_seconds > 0:
            raise OptionError(f"max_hold_seconds must be positive, got {self.max_hold_seconds!r}")
        if self.wait_replicas < 0:
            raise OptionError(f"wait_replicas must not be negative, got {self.wait_replicas!r}")
        if not self.wait_seconds > 0:  # to Redis, 0 means to wait without end
            raise OptionError(f"wait_seconds must be positive, got {self.wait_seconds!r}")
        if self.wait_replicas_missing not in ("raise", "warn"):
            raise OptionError(
                f"wait_replicas_missing must be a word, 'raise' or 'warn', got {self.wait_replicas_missing!r}"
            )
        if self.failover_seconds < 0:
            raise OptionError(f"failover_seconds must not be negative, got {self.failover_seconds!r}")
        if not self.max_strikes > 0:
            raise OptionError(f"max_strikes must be positive, got {self.max_strikes!r}")
        self.engine()  # which checks the rest

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> TransportOptions:
        """The options in kombu's ``transport_options``, of which most are kombu's own.

        A name that neither kombu nor we read is logged, since other programs may read it.

        Raises:
            OptionError: a value cannot work, an option of kombu's asks for what this broker does not do, or a name is
                only nearly one of those that are read.
        """
        for name in sorted(options.keys() - KNOWN_OPTIONS - _logged, key=str):
            meant = get_close_matches(str(name), sorted(KNOWN_OPTIONS), n=1, cutoff=0.8)
            if meant:
                raise OptionError(f"broker_transport_options has no {name!r}: did you mean {meant[0]!r}?")
            _logged.add(name)
            logger.warning("broker_transport_options has %r, which neither kombu nor DelayHub reads", name)
        for name, (only, why) in REFUSED.items():
            if options.get(name, only) != only:
                raise OptionError(
                    f"{name} of broker_transport_options must be {only!r}, got {options[name]!r}: on this broker {why}"
                )
        known = {name: options[name] for name in OWN_OPTIONS if name in options}
        return cls(**known, key_prefix=options.get("global_keyprefix", ""))

    def engine(self) -> EngineOptions:
        """The engine's part of the options.

        The engine lets a message live for a few strikes more than ``max_strikes``: a consumer claims it once more, to
        report that it is dead.
        """
        return EngineOptions(
            key_prefix=self.key_prefix,
            lease_seconds=self.lease_seconds,
            max_strikes=self.max_strikes + REPORT_ATTEMPTS,
        )


#: Names in ``transport_options`` that are ours.
OWN_OPTIONS = tuple(field.name for field in fields(TransportOptions) if field.name != "key_prefix")
KNOWN_OPTIONS = KOMBU_OPTIONS | {*OWN_OPTIONS, HOOKS_OPTION}
