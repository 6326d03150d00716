"""The ``DELAYHUB`` setting: every option with its type, default and meaning, live under ``override_settings``."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.urls import get_script_prefix, reverse

from delayhub.secrecy import NOT_SHOWN, Secrecy, is_shown

#: The lane of a biz type that names no other.
DEFAULT_LANE = "delayhub.timers"


#: What a lane's name is made of: commas divide the names in a worker's ``-Q``, and braces mean something in Redis keys.
_LANE = re.compile(r"[A-Za-z0-9._:@-]{1,100}")

#: Short, since the beginning of a key names it, and a proxy finds it there.
_CELL = re.compile(r"[a-z0-9]{1,4}")

#: A pattern of names, after the code of a tenant (or a pattern of codes) where it is for another than the default one.
_PATTERN = re.compile(r"(?:[a-z0-9*?][a-z0-9._*?-]*/)?[^/\s]+")
#: Tasks to which no biz type leads, whatever is allowed: those that deliver jobs, and those that run other tasks.
NEVER_TASKS = ("tasksapp.*", "celery.*")
#: Queues to which none leads: those of Celery's own messages, and lanes of jobs that are pulled. Nor to timer lanes.
NEVER_QUEUES = ("*.pidbox", "celeryev*", "@pull:*")


class Limits(NamedTuple):
    """The least and the greatest value of an option."""

    least: float
    most: float


#: Its values are not repeated: some are secrets.
NOT_A_DICT = "DELAYHUB must be a dict, got a {}"

#: A token of the metrics that is shorter could be guessed.
SHORTEST_TOKEN = 16


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Options:
    """The options in the ``DELAYHUB`` dict, where their names are in capitals.

    Each number has a mark with its bounds. Each text says by its mark what may be shown of it; one without is not
    shown, neither on the page of the system nor in a message about a wrong value.

    Args:
        lanes: the timer lanes; each is a Celery queue that workers consume.
        redis_url: the Redis server that holds the timers, by another name than the broker has; None for the broker.
        key_prefix: what every Redis key begins with; None for the broker's ``global_keyprefix``.
        near_window_seconds: jobs due sooner than this have a timer in Redis, all others only a row.
        lease_seconds: how long a claimed job belongs to its worker, beyond the biz type's timeout, unless renewed.
        sweep_seconds: how often the loader looks for rows that need a timer.
        loader_lease_seconds: how long the other loaders wait before they take over from one that died.
        arm_timeout_seconds: how long creating a job may wait for Redis; the loader sets a timer that was missed.
        dispatcher_concurrency: callbacks that one process has open at once.
        biz_type_concurrency: callbacks of one biz type that one process has open at once.
        host_concurrency: callbacks to one host that one process has open at once.
        flush_size: the most outcomes that are written together.
        flush_seconds: how long an outcome waits for others, to be written together with them.
        response_bytes: how much of a response's body is read and stored.
        kept_exchanges: requests and answers: ``all`` are kept, or ``troubled``: none of a first attempt that succeeds.
        body_bytes: the largest body of a job.
        bulk_bytes: the largest request for many jobs; reading it takes up to 25 times as much memory.
        max_system_errors: a job is dead after so many failures on DelayHub's side.
        priority_bonus_seconds: a due job of the next priority goes first where it was due so much earlier.
        breaker_failures: failures in a row after which the breaker of a biz type and its host opens.
        breaker_seconds: how long it stays open before one job probes the host.
        idempotency_hours: how long an idempotency key is kept.
        tenant_pending_jobs: pending jobs that a tenant may have where its own row names no other limit.
        tenant_pending_bytes: bytes that the bodies of those may have, the same.
        tenant_series: series that a tenant may have, the same.
        tenant_biz_types: biz types, the same.
        tenant_api_keys: API keys, the same.
        purge_rows_per_minute: rows that workers delete after their retention, at most; 0 leaves that to ``purge_jobs``.
        audit_days: how long entries of the audit are kept; 0 keeps them for ever.
        allowed_networks: private networks that callbacks may go to, such as ``10.1.0.0/16``.
        allowed_tasks: Celery tasks that biz types may run, such as ``shop.tasks.*``; of a tenant ``acme/shop.tasks.*``.
        allowed_queues: the queues to which biz types may send them, written alike; without, only a task's own queue.
        encryption_keys: Fernet keys for secrets, the newest first; empty: one derived from SECRET_KEY.
        owner_mail: the mail addresses of the owner of the site, who is told when something is wrong.
        owner_url: where such messages are posted too; None for nowhere.
        owner_secret: what those posts are signed with, such as ``whsec_`` and base64; None: they are not signed.
        site_url: where people reach the site, such as ``https://delayhub.example``, for links that are sent; with its
            path where it is below one.
        alert_language: the language of messages; None for LANGUAGE_CODE.
        alert_deaths: so many jobs of a biz type that die within ``alert_calm_seconds`` are an alert.
        alert_overdue_seconds: jobs that wait so long after their time are an alert.
        alert_calm_seconds: for how long nothing may die before deaths are over, and what comes back sooner is the same.
        alert_reminder_hours: how often an alert that stays is sent again.
        long_polls: requests with ``wait`` that may wait at once in one process, fewer than its web server has threads.
        exports: exports of jobs that one process sends at once; one tenant, or one user of the admin, has half of them.
        web_lock_seconds: how long a request waits for a lock of the database before it gets 503; 0: without end.
        rest_changes: which changes of jobs REST takes: ``any``, or only ``conditional`` ones, which name what they saw.
        metrics_tokens: tokens of 16 characters or more, any of which lets a scraper read the metrics.
        metrics_networks: networks from which the metrics may be read without a token, such as ``10.1.0.0/16``.
        metrics_biz_types: biz types that have series of their own in the metrics; those beyond are added up.
        api_authentication: dotted names of the API's authentication classes; empty: sessions and API keys.
        cell: this site's name where it is one of several, such as ``c2``: new API keys begin with it.
        schema_access: who may read the API's OpenAPI document: ``callers`` (and people in the admin) or ``anyone``.
    """

    lanes: Annotated[tuple[str, ...], Secrecy.OPEN] = (DEFAULT_LANE,)
    redis_url: Annotated[str | None, Secrecy.HOST] = None
    key_prefix: Annotated[str | None, Secrecy.OPEN] = None
    near_window_seconds: Annotated[float, Limits(10, 86_400)] = 3_600.0
    lease_seconds: Annotated[float, Limits(1, 3_600)] = 60.0
    sweep_seconds: Annotated[float, Limits(0.05, 60)] = 1.0
    loader_lease_seconds: Annotated[float, Limits(1, 300)] = 10.0
    arm_timeout_seconds: Annotated[float, Limits(0.001, 10)] = 0.1
    dispatcher_concurrency: Annotated[int, Limits(1, 100_000)] = 2_000
    biz_type_concurrency: Annotated[int, Limits(1, 100_000)] = 1_000
    host_concurrency: Annotated[int, Limits(1, 100_000)] = 500
    flush_size: Annotated[int, Limits(1, 1_000)] = 100
    flush_seconds: Annotated[float, Limits(0.001, 5)] = 0.01
    response_bytes: Annotated[int, Limits(0, 1_048_576)] = 4_096
    kept_exchanges: Annotated[Literal["all", "troubled"], Secrecy.OPEN] = "troubled"
    body_bytes: Annotated[int, Limits(2, 1_048_576)] = 65_536
    bulk_bytes: Annotated[int, Limits(65_536, 67_108_864)] = 8_388_608
    max_system_errors: Annotated[int, Limits(1, 10_000)] = 100
    priority_bonus_seconds: Annotated[float, Limits(1, 3_600)] = 60.0
    breaker_failures: Annotated[int, Limits(1, 100_000)] = 20
    breaker_seconds: Annotated[float, Limits(1, 3_600)] = 30.0
    idempotency_hours: Annotated[float, Limits(1, 8_760)] = 168.0
    tenant_pending_jobs: Annotated[int, Limits(0, 1e15)] = 10_000_000
    tenant_pending_bytes: Annotated[int, Limits(0, 1e15)] = 50_000_000_000
    tenant_series: Annotated[int, Limits(0, 1_000_000)] = 20_000
    tenant_biz_types: Annotated[int, Limits(0, 1_000_000)] = 10_000
    tenant_api_keys: Annotated[int, Limits(0, 1_000_000)] = 10_000
    purge_rows_per_minute: Annotated[int, Limits(0, 10_000_000)] = 60_000
    audit_days: Annotated[float, Limits(0, 36_500)] = 365.0
    allowed_networks: Annotated[tuple[str, ...], Secrecy.OPEN] = ()
    allowed_tasks: Annotated[tuple[str, ...], Secrecy.OPEN] = ()
    allowed_queues: Annotated[tuple[str, ...], Secrecy.OPEN] = ()
    encryption_keys: Annotated[tuple[str, ...], Secrecy.SECRET] = ()
    owner_mail: Annotated[tuple[str, ...], Secrecy.OPEN] = ()
    owner_url: Annotated[str | None, Secrecy.HOST] = None
    owner_secret: Annotated[str | None, Secrecy.SECRET] = None
    site_url: Annotated[str | None, Secrecy.OPEN] = None
    alert_language: Annotated[str | None, Secrecy.OPEN] = None
    alert_deaths: Annotated[int, Limits(1, 1_000_000)] = 1
    alert_overdue_seconds: Annotated[float, Limits(10, 86_400)] = 60.0
    alert_calm_seconds: Annotated[float, Limits(10, 86_400)] = 600.0
    alert_reminder_hours: Annotated[float, Limits(0.1, 720)] = 6.0
    long_polls: Annotated[int, Limits(0, 10_000)] = 1
    exports: Annotated[int, Limits(1, 1_000)] = 2
    web_lock_seconds: Annotated[float, Secrecy.OPEN, Limits(0, 60)] = 3.0
    rest_changes: Annotated[Literal["any", "conditional"], Secrecy.OPEN] = "any"
    metrics_tokens: Annotated[tuple[str, ...], Secrecy.SECRET] = ()
    metrics_networks: Annotated[tuple[str, ...], Secrecy.OPEN] = ()
    metrics_biz_types: Annotated[int, Limits(0, 10_000)] = 200
    api_authentication: Annotated[tuple[str, ...], Secrecy.OPEN] = ()
    cell: Annotated[str | None, Secrecy.OPEN] = None
    schema_access: Annotated[Literal["callers", "anyone"], Secrecy.OPEN] = "callers"

    def __repr__(self) -> str:
        shown = {field.name: getattr(self, field.name) for field in fields(self)}
        told = (
            f"{name}={value!r}" if is_shown(value, secrecy_of(name)) else f"{name}={NOT_SHOWN}"
            for name, value in shown.items()
        )
        return f"Options({', '.join(told)})"

    @property
    def near_window(self) -> timedelta:
        """How soon a job must be due to have a timer in Redis."""
        return timedelta(seconds=self.near_window_seconds)

    @property
    def renew_seconds(self) -> float:
        """How often the lease of a row is renewed: every third of it, so that one renewal may fail."""
        return self.lease_seconds / 3


def options() -> Options:
    """The options as the settings have them now.

    Raises ImproperlyConfigured where a value is not valid.
    """
    return _current()


def address_on_site(page: str) -> str:
    """The address of the page of that name, where people reach it, by ``site_url``; '' where that is not set.

    Raises NoReverseMatch.
    """
    site = (options().site_url or "").rstrip("/")
    # A request knows the path that the site is below, a command and a thread may not: the address has it once.
    below = get_script_prefix().rstrip("/")
    path = reverse(page).removeprefix(below)
    if not urlsplit(site).path:
        path = (below or (settings.FORCE_SCRIPT_NAME or "").rstrip("/")) + path
    return site and site + path


def is_like(name: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns fits the name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def secrecy_of(name: str) -> Secrecy | None:
    """What may be shown of the option of that name, by its mark; None where it has none, or is no option."""
    return next((mark for mark in _marks().get(name, ()) if isinstance(mark, Secrecy)), None)


def limits_of(name: str) -> Limits | None:
    """The least and the greatest value of the option of that name; None where it is no number."""
    return next((mark for mark in _marks().get(name, ()) if isinstance(mark, Limits)), None)


def complaints(given: Mapping[str, Any]) -> list[str]:
    """What is wrong with a ``DELAYHUB`` dict, a sentence for each fault."""
    kinds = _kinds()
    known = {field.name.upper(): field.name for field in fields(Options)}
    found = [_unknown(key, known) for key in given if key not in known]
    for key, name in known.items():
        if key in given:
            found += _complaints_about(key, given[key], kinds[name], limits_of(name))
    return found


def read(given: Mapping[str, Any]) -> Options:
    """The options of a ``DELAYHUB`` dict, without unknown keys, which the system check reports.

    Raises ImproperlyConfigured where a value is not valid.
    """
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(NOT_A_DICT.format(type(given).__name__))
    known = {field.name.upper(): field.name for field in fields(Options)}
    usable = {key: value for key, value in given.items() if key in known}
    if wrong := complaints(usable):
        raise ImproperlyConfigured("; ".join(wrong))
    values: dict[str, Any] = {known[key]: tuple(v) if isinstance(v, list) else v for key, v in usable.items()}
    return Options(**values)


def _unknown(key: Any, known: Mapping[str, str]) -> str:
    meant = get_close_matches(str(key).upper(), known, n=1)
    return f"DELAYHUB[{key!r}] is not an option: {f'write {meant[0]}, or ' if meant else ''}leave it out"


def _complaints_about(key: str, value: Any, kind: Any, limits: Limits | None) -> list[str]:
    label = f"DELAYHUB[{key!r}]"
    got = f"got {value!r}" if secrecy_of(key.lower()) is Secrecy.OPEN else f"got a value of type {type(value).__name__}"
    if kind in (float, int):
        return _number_complaints(label, value, kind, limits)
    if kind == tuple[str, ...]:
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) and item for item in value):
            return [f"{label} must be a list of strings, {got}"]
        return _LIST_COMPLAINTS[key](key, value) if key in _LIST_COMPLAINTS else []
    if get_origin(kind) is Literal:
        words = get_args(kind)
        return [] if value in words else [f"{label} must be one of {list(words)}, got {value!r}"]
    if value is not None and not isinstance(value, str):
        return [f"{label} must be a string or None, {got}"]
    is_wrong = key == "CELL" and value is not None and not _CELL.fullmatch(value)
    return [f"{label} must be one to four of a-z and 0-9, such as 'c2', {got}"] if is_wrong else []


def _number_complaints(label: str, value: Any, kind: type, limits: Limits | None) -> list[str]:
    allowed = (int, float) if kind is float else (int,)
    if isinstance(value, bool) or not isinstance(value, allowed):
        return [f"{label} must be a number, got {value!r}"]
    if limits is not None and not limits.least <= value <= limits.most:
        return [f"{label} must be {limits.least:g} to {limits.most:g}, got {value!r}"]
    return []


def _lane_complaints(_key: str, lanes: Sequence[str]) -> list[str]:
    found = [] if lanes else ["DELAYHUB['LANES'] is empty: leave it out"]
    found += [
        f"DELAYHUB['LANES'] must be names of Celery queues, of letters, digits and ._:@- (100 at most), got {lane!r}"
        for lane in lanes
        if not _LANE.fullmatch(lane)
    ]
    twice = sorted({lane for lane in lanes if lanes.count(lane) > 1})
    return found + [f"DELAYHUB['LANES'] names {lane!r} twice: write it once" for lane in twice]


def _network_complaints(key: str, values: Sequence[str]) -> list[str]:
    found = []
    for value in values:
        try:
            ipaddress.ip_network(value)
        except ValueError as error:
            found.append(f"DELAYHUB[{key!r}]: {error}")
    return found


def _pattern_complaints(key: str, patterns: Sequence[str]) -> list[str]:
    label = f"DELAYHUB[{key!r}]"
    found = [
        f"{label} must be patterns of names, such as 'shop.*', or 'acme/shop.*' for the tenant acme, got {pattern!r}"
        for pattern in patterns
        if not _PATTERN.fullmatch(pattern)
    ]
    never = NEVER_TASKS if key == "ALLOWED_TASKS" else NEVER_QUEUES
    return found + [
        f"{label} has {pattern!r}, which no biz type may name whatever is allowed: leave it out"
        for pattern in patterns
        if is_like(pattern.rpartition("/")[2], never)
    ]


def _token_complaints(key: str, tokens: Sequence[str]) -> list[str]:
    if all(len(token) >= SHORTEST_TOKEN for token in tokens):
        return []
    # Without the token, which is a secret.
    return [
        f"DELAYHUB[{key!r}] has a token of fewer than {SHORTEST_TOKEN} characters: `openssl rand -hex 32` makes one"
    ]


_LIST_COMPLAINTS: Mapping[str, Callable[[str, Sequence[str]], list[str]]] = {
    "LANES": _lane_complaints,
    "ALLOWED_NETWORKS": _network_complaints,
    "ALLOWED_TASKS": _pattern_complaints,
    "ALLOWED_QUEUES": _pattern_complaints,
    "METRICS_NETWORKS": _network_complaints,
    "METRICS_TOKENS": _token_complaints,
}


@cache
def _marks() -> Mapping[str, tuple[object, ...]]:
    hints = get_type_hints(Options, include_extras=True)
    return {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}


@cache
def _kinds() -> Mapping[str, Any]:
    return get_type_hints(Options)


@cache
def _current() -> Options:
    return read(getattr(settings, "DELAYHUB", {}))


@receiver(setting_changed, dispatch_uid="tasksapp.conf")
def _forget(*, setting: str, **_: Any) -> None:
    if setting == "DELAYHUB":
        _current.cache_clear()
