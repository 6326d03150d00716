"""The report of the whole system: each section by itself, so that one that cannot be read hides no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import redis
from django.core.exceptions import ImproperlyConfigured
from django.db import Error
from django.utils.translation import gettext as _

from delayhub.errors import OptionError
from tasksapp.queues.system.section import Section
from tasksapp.queues.system.servers import database_section, redis_section
from tasksapp.queues.system.this_process import settings_section, versions_section
from tasksapp.queues.system.timer_check import timers_section
from tasksapp.queues.system.workers import lanes_section, loader_section, purge_section, workers_section


def system_report(*, check: bool = False) -> list[Section]:
    """All sections. Never raises for a server that is away: the section says why it is empty.

    Args:
        check: whether to compare timers with rows, which takes up to three seconds.
    """
    wanted: list[tuple[str, str, bool, Callable[[], Section]]] = [
        ("workers", _("Workers"), True, workers_section),
        ("loader", _("Loader"), True, loader_section),
        ("timers", _("Timers and rows"), check, partial(timers_section, check=check)),
        ("lanes", _("Timer lanes"), True, lanes_section),
        ("redis", _("Redis"), True, redis_section),
        ("database", _("Database"), False, database_section),
        ("purge", _("Purge"), True, purge_section),
        ("versions", _("Versions"), False, versions_section),
        ("settings", _("Settings in force"), False, settings_section),
    ]
    found: list[Section] = []
    redis_fault = ""
    for key, title, asks_redis, make in wanted:
        try:
            if redis_fault and asks_redis:  # it costs a second to find that out, once
                raise redis.ConnectionError
            found.append(replace(make(), key=key, title=title))
        except (redis.RedisError, OSError) as error:
            redis_fault = redis_fault or type(error).__name__
            text = _("Redis does not answer (%(error)s).") % {"error": redis_fault}
            found.append(Section(key=key, title=title, faults=[text]))
        except Error as error:
            text = _("The database does not answer (%(error)s).") % {"error": type(error).__name__}
            found.append(Section(key=key, title=title, faults=[text]))
        except (OptionError, ImproperlyConfigured, ValueError, ImportError) as error:
            # What libraries say of a URL may quote a part of its password.
            is_ours = isinstance(error, OptionError | ImproperlyConfigured | ImportError)
            text = _("The settings do not say: %(why)s") % {"why": error if is_ours else type(error).__name__}
            found.append(Section(key=key, title=title, faults=[text]))
    return found
