"""Error classes: the kind of a job's last error, as a short key to filter by and in words for people.

The keys are a closed list, except for two families: ``http.<status>`` and ``task.<name of an exception>``.
"""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.delivery.outcomes import Failure

#: A column keeps so many characters of a key.
LENGTH = 40

#: Kinds of failure that have no callback: a worker was lost, or the job could not begin in time.
LOST, TOO_LATE, MAX_AGE, NOT_TAKEN = "lost", "too_late", "max_age", "not_taken"
#: A puller said that it failed.
PULLER = "puller"
#: Another job of its series took its place, or was in its way.
OVERLAP = "overlap"
#: The kind of a job that was called off since its business key was resolved.
RESOLVED = "resolved"
#: The kind of a job whose own time to begin an attempt was over.
EXPIRED = "expired"

#: What the keys of the two families begin with.
HTTP, TASK = "http.", "task."

_WORDS: dict[str, str | Promise] = {
    Failure.REFUSED: gettext_lazy("connection refused"),
    Failure.UNREACHABLE: gettext_lazy("host not reachable"),
    Failure.TIMEOUT: gettext_lazy("timeout"),
    Failure.DNS: gettext_lazy("host name not found"),
    Failure.TLS: gettext_lazy("TLS error"),
    Failure.RESET: gettext_lazy("connection closed by the receiver"),
    Failure.PROTOCOL: gettext_lazy("not an HTTP answer"),
    Failure.ADDRESS: gettext_lazy("address not allowed"),
    Failure.REJECTED: gettext_lazy("rejected by the receiver for good"),
    Failure.ASKED: gettext_lazy("the receiver asked for another try"),
    Failure.OUTCOME_UNKNOWN: gettext_lazy("outcome unknown"),
    Failure.RETURNED: gettext_lazy("given back before it was sent"),
    Failure.SYSTEM: gettext_lazy("fault on our side"),
    Failure.OTHER: gettext_lazy("other error"),
    LOST: gettext_lazy("worker lost"),
    TOO_LATE: gettext_lazy("too late to begin"),
    MAX_AGE: gettext_lazy("longest age used up"),
    NOT_TAKEN: gettext_lazy("no worker ran the task"),
    PULLER: gettext_lazy("failed, says its puller"),
    OVERLAP: gettext_lazy("overlap with another one of its series"),
    RESOLVED: gettext_lazy("resolved"),
    EXPIRED: gettext_lazy("expired"),
}

#: The closed list, without the two families.
ERROR_CLASSES = tuple(_WORDS)


def error_class_label(error_class: str) -> str:
    """The words for an error class; the key itself where it is none of ours."""
    if error_class.startswith(HTTP):
        return _("HTTP %(status)s") % {"status": error_class.removeprefix(HTTP)}
    if error_class.startswith(TASK):
        return _("task raised %(exception)s") % {"exception": error_class.removeprefix(TASK)}
    return str(_WORDS.get(error_class, error_class))


def task_error_class(exception: str) -> str:
    """The error class of a task that raised an exception of that name; cut where the name is long."""
    return f"{TASK}{exception}".replace("\x00", "")[:LENGTH]
