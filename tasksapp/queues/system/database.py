"""The database that holds the jobs."""

from __future__ import annotations

from django.db import connections, router
from django.utils.translation import gettext as _

from tasksapp.models import Job
from tasksapp.queues.system.section import Column, Fact, Section, Unit, Value
from tasksapp.sql.database_size import read_size


def database_section() -> Section:
    """Vendor, version, connections, and the sizes of DelayHub's tables. Raises DatabaseError."""
    using = router.db_for_write(Job)
    size, connection = read_size(using=using), connections[using]
    rows: list[list[Value]] = [[table.name, table.rows, table.bytes] for table in size.tables]
    return Section(
        key="database",
        title=_("Database"),
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
