"""Bounds how long a web process waits for locks, so that one lock cannot hold all of its threads.

Workers, the loader, purges and commands wait as long as it takes: none of them calls this.
"""

from __future__ import annotations

import logging
from typing import Any

from django.db import DatabaseError, connections

from tasksapp.conf import options

logger = logging.getLogger(__name__)

#: PostgreSQL's setting, and what a pooler answers that does not pass it on.
_SETTING, _REFUSED = "lock_timeout", "unsupported startup parameter"


def bound_lock_waits() -> None:
    """Lets the connections that this process makes from now on wait ``WEB_LOCK_SECONDS`` for a lock, and no longer.

    Call it where a web process begins, as at the end of wsgi.py. What waits longer is an OperationalError, and over
    REST a 503. PostgreSQL is told by an option of the connection, which a database whose settings have a
    ``lock_timeout`` keeps; SQLite by its timeout, unless that is shorter.
    """
    seconds = options().web_lock_seconds
    if not seconds:
        return
    for alias in connections:
        known = connections[alias].settings_dict["OPTIONS"]
        if connections[alias].vendor == "sqlite":
            known["timeout"] = min(seconds, known.get("timeout", seconds))
        elif connections[alias].vendor == "postgresql" and not has_lock_timeout(known):
            known["options"] = f"{known.get('options') or ''} -c {_SETTING}={round(seconds * 1000)}".strip()
            _try(alias)


def has_lock_timeout(database_options: dict[str, Any]) -> bool:
    """Whether connections with these options wait for locks as long as those say."""
    return _SETTING in str(database_options.get("options") or "")


def give_way_to_pooler(alias: str, error: Exception) -> bool:
    """Goes on without the bound where a pooler refuses it; whether that is what the error was about.

    PgBouncer refuses every option of a connection that it does not know.
    """
    known = connections[alias].settings_dict["OPTIONS"]
    if _REFUSED not in str(error) or not has_lock_timeout(known):
        return False
    kept = " ".join(str(known["options"]).split(f"-c {_SETTING}=")[:1]).strip()
    if kept:
        known["options"] = kept
    else:
        del known["options"]
    logger.warning(
        "a pooler refuses connections that set %s, so this process waits for locks without end:"
        " ALTER ROLE … SET %s = '%ds' for the role of the web servers, and WEB_LOCK_SECONDS = 0",
        _SETTING, _SETTING, options().web_lock_seconds, extra={"action": "lock_timeout"},
    )  # fmt: skip
    return True


def _try(alias: str) -> None:
    """One connection, to find a pooler out before the first request does."""
    tried = connections.create_connection(alias)
    try:
        tried.ensure_connection()
    except DatabaseError as error:
        if not give_way_to_pooler(alias, error):
            logger.warning("the database does not answer: %s", error, extra={"action": "lock_timeout"})
    finally:
        tried.close()
