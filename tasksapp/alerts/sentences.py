"""What is wrong, in a sentence for people, in the language that is active; and the language of messages."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone, translation
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from tasksapp.conf import options
from tasksapp.models import AlertKind
from tasksapp.stats.delivery_health import DeliveryState

#: The longest sentence that is kept.
LONGEST = 500


_DELIVERY: Mapping[str, Promise] = {
    DeliveryState.NO_WORKER: gettext_lazy("No worker takes jobs: none is delivered. Start a worker."),
    DeliveryState.WORKERS_FULL: gettext_lazy(
        "Workers run, but none takes jobs: all their slots are full, or their -Q leaves the timers out."
    ),
    DeliveryState.SETTINGS: gettext_lazy(
        "No job is delivered: the settings name no Redis for them. “manage.py check” says why."
    ),
    DeliveryState.DATABASE_LOCKED: gettext_lazy(
        "No job is created or delivered: the table of jobs is locked, by a migration, a backup or a person."
    ),
    DeliveryState.DATABASE_FULL: gettext_lazy("No job is created or done: the database's disk is full. Make room."),
    DeliveryState.DATABASE_READ_ONLY: gettext_lazy("No job is created or done: the database is read-only."),
    DeliveryState.DATABASE_STANDBY: gettext_lazy(
        "No job is created or done: web servers or workers are connected to a standby of the database."
    ),
    DeliveryState.OTHER_REDIS: gettext_lazy(
        "Jobs are late: workers and web processes name different Redis servers for the timers."
    ),
    DeliveryState.NO_LOADER: gettext_lazy("Jobs may be late: workers run, but none has the loader. Restart them."),
    DeliveryState.LOADER_FAILS: gettext_lazy(
        "Jobs may be late: the turns of the loader fail. The log of its worker says why."
    ),
}
_SITE: Mapping[str, Promise] = {
    AlertKind.DATABASE_AWAY: gettext_lazy(
        "The database does not answer: no job is delivered, and none can be created."
    ),
    AlertKind.REDIS_AWAY: gettext_lazy(
        "Redis does not answer. Workers go on from the database, but Celery tasks wait, and so do jobs of biz types"
        " with a rate or slots. Jobs can still be created."
    ),
}


def sentence_of(kind: str, facts: Mapping[str, Any]) -> str:  # noqa: PLR0911  a table of kinds
    """What is wrong, and where that helps, what to do.

    Args:
        kind: the kind of the alert.
        facts: its facts.
    """
    words = {**facts, "biz_type": facts.get("biz_type", "?")}
    match kind:
        case AlertKind.BREAKER_OPEN if "no_token" in facts:
            return (
                _("%(biz_type)s: no access token from %(no_token)s. Its jobs wait, and one at a time tries again.")
                % words
            )
        case AlertKind.BREAKER_OPEN:
            return _("%(biz_type)s: its receiver %(host)s is down. Its jobs wait until it answers.") % {
                **words,
                "host": facts.get("host", "?"),
            }
        case AlertKind.OVERDUE:
            return _("%(biz_type)s: %(due)s jobs are overdue, the oldest since %(since)s.") % {
                **words,
                "due": _number(facts.get("due")),
                "since": _time(facts.get("oldest")),
            }
        case AlertKind.KEY_BLOCKED:
            text = _(
                "%(biz_type)s: flow keys are blocked: %(keys)s; longest of all %(flow_key)s, by job %(job_id)s. The"
                " jobs behind it wait until it is over."
            )
            return text % {
                "biz_type": words["biz_type"],
                "keys": _number(facts.get("keys")),
                "flow_key": facts.get("flow_key", "?"),
                "job_id": facts.get("job_id", "?"),
            }
        case AlertKind.CERTIFICATE_ENDS | AlertKind.CERTIFICATE_OVER:
            return _about_certificate(kind, words, facts)
        case AlertKind.UNREADABLE:
            text = _(
                "%(biz_type)s: no key of ENCRYPTION_KEYS opens what its jobs carry, or its secrets. They wait, and none"
                " is sent, until the key is back."
            )
            return text % words
        case AlertKind.NO_FOLLOW_UP:
            text = _("%(biz_type)s: what was to follow could not be made, for %(jobs)s jobs; the last is %(job_id)s.")
            return text % {**words, "jobs": _number(facts.get("jobs")), "job_id": facts.get("job_id", "?")}
        case AlertKind.DEAD:
            return _about_deaths(words)
    return str(_SITE.get(kind) or _DELIVERY.get(str(facts.get("state", ""))) or kind)


def _about_certificate(kind: str, words: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    is_over, is_of_bundle = kind == AlertKind.CERTIFICATE_OVER, facts.get("of") == "bundle"
    if is_of_bundle and is_over:
        text = _(
            "%(biz_type)s: the certificate of %(subject)s in its CA bundle has ended at %(end)s. Replace it, or take it"
            " out."
        )
    elif is_of_bundle:
        text = _("%(biz_type)s: the certificate of %(subject)s in its CA bundle ends at %(end)s. Replace it.")
    elif is_over:
        text = _("%(biz_type)s: its client certificate (%(subject)s) has ended at %(end)s. Set another one.")
    else:
        text = _("%(biz_type)s: its client certificate (%(subject)s) ends at %(end)s. Set another one.")
    return text % {**words, "subject": facts.get("subject", "?"), "end": _time(facts.get("end"))}


def _about_deaths(words: Mapping[str, Any]) -> str:
    dead = words.get("dead")
    values = {"biz_type": words["biz_type"], "died": _number(words.get("died")), "dead": _number(dead)}
    if not isinstance(dead, int):
        return _("%(biz_type)s: jobs die, %(died)s lately.") % values
    text = ngettext(
        "%(biz_type)s: jobs die, %(died)s lately. %(dead)s dead job waits for a person.",
        "%(biz_type)s: jobs die, %(died)s lately. %(dead)s dead jobs wait for a person.",
        dead,
    )
    return text % values


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else "?"


def _time(value: Any) -> str:
    return f"{timezone.localtime(datetime.fromisoformat(value)):%Y-%m-%d %H:%M:%S %Z}" if value else "?"


def in_messages_language() -> AbstractContextManager[None]:
    """While it is open, texts are in the language of messages."""
    return translation.override(options().alert_language or settings.LANGUAGE_CODE)
