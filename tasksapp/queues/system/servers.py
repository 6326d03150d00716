"""The servers: the Redis that holds the timers, and the database that holds the jobs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import redis
from django.db import connections, router
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from delayhub.clock import SystemClock, moment
from delayhub.engine.fitness import examine
from tasksapp.conf import options
from tasksapp.models import Job
from tasksapp.queues.system.section import Column, Fact, Section, Unit, Value
from tasksapp.sql.database_size import read_size
from tasksapp.timers.broker import timer_address
from tasksapp.timers.lanes import watched_lane

#: Clocks that differ by more make leases end early or late.
OFFSET_MS = 1_000
#: What the engine says of a server, for translators; what names a version or a policy stays as it is.
_SAID = (
    gettext_noop("its user may not call INFO, so nothing could be checked: +info"),
    gettext_noop("it is a replica, which takes no writes: name the master, or its sentinels"),
    gettext_noop("it keeps nothing on disk, so a restart loses every task: set appendonly yes"),
    gettext_noop("it has snapshots but no append-only file: an accident loses the tasks since the last one"),
)


def redis_section() -> Section:
    """What Redis says of itself, as far as its user may ask. Raises what Redis raises."""
    lane, clock = watched_lane(options().lanes[0]), SystemClock()
    before = clock.now_ms()
    seconds, micros = lane.client.time()
    offset_ms = seconds * 1000 + micros // 1000 - (before + clock.now_ms()) // 2
    epoch: Any = lane.client.get(lane.keys.epoch)
    info: Mapping[str, Any] = {}
    with suppress(redis.ResponseError):  # managed servers hide it, and what is wrong says so
        info = lane.client.info()
    fitness = examine(lane.client)
    warnings = [_(said) for said in fitness.warnings]
    if abs(offset_ms) > OFFSET_MS:
        warnings.append(_("the clock of this machine and that of Redis differ: set both by NTP"))
    return Section(
        facts=[
            Fact("address", _("Address"), timer_address()),
            Fact("server", _("Version"), fitness.server),
            *_said(info),
            Fact("clock_offset_ms", _("Its clock is ahead of this host's by"), offset_ms, Unit.MS),
            Fact("epoch", _("Epoch of the timers"), epoch.decode() if epoch else None),
        ],
        faults=[_(said) for said in fitness.faults],
        warnings=warnings,
    )


def _said(info: Mapping[str, Any]) -> list[Fact]:
    if not info:
        return []
    limit = info.get("maxmemory") or None
    saved = info.get("rdb_last_save_time")
    return [
        Fact("uptime_seconds", _("Up for"), info.get("uptime_in_seconds"), Unit.SECONDS),
        Fact("role", _("Role"), info.get("role")),
        Fact("used_memory", _("Memory in use"), info.get("used_memory"), Unit.BYTES),
        Fact("maxmemory", _("Memory at most"), limit or _("no limit"), Unit.BYTES),
        Fact("maxmemory_policy", _("When memory is full"), info.get("maxmemory_policy")),
        Fact("evicted_keys", _("Keys thrown away for memory"), info.get("evicted_keys")),
        Fact("append_only_file", _("Append-only file"), bool(info.get("aof_enabled"))),
        Fact("saved_at", _("Last snapshot"), moment(saved * 1000) if isinstance(saved, int) else None),
        Fact("clients", _("Connections"), info.get("connected_clients")),
        Fact("replicas", _("Replicas"), info.get("connected_slaves")),
    ]


def database_section() -> Section:
    """Vendor, version, connections, and the sizes of DelayHub's tables. Raises DatabaseError."""
    using = router.db_for_write(Job)
    size, connection = read_size(using=using), connections[using]
    rows: list[list[Value]] = [[table.name, table.rows, table.bytes] for table in size.tables]
    return Section(
        facts=[
            Fact("alias", _("Name in the settings"), using),
            Fact("vendor", _("Kind"), connection.display_name),
            Fact("version", _("Version"), size.version),
            Fact("bytes", _("Size"), size.bytes, Unit.BYTES),
            Fact("connections", _("Connections"), size.connections),
            Fact("max_connections", _("Connections at most"), size.max_connections),
        ],
        columns=[
            Column("table", _("Table")),
            Column("rows", _("Rows, estimated")),
            Column("bytes", _("Size with indexes"), Unit.BYTES),
        ],
        rows=rows,
        empty=_("This kind of database does not know the sizes of its tables without reading them."),
    )
