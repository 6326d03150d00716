"""The words for each verb, once: in titles, questions and explanations, on buttons, and for what became of jobs."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import Operation

VerbName = Operation.VerbName

#: Verbs after which jobs run at once: some can be tried first. After those of ``RUNS`` they run, now or later.
RUNS_AT_ONCE = frozenset({VerbName.REDRIVE, VerbName.RUN_NOW, VerbName.BACKFILL})
RUNS = RUNS_AT_ONCE | {VerbName.RESCHEDULE}
#: Verbs that nothing undoes: pages ask first.
FOR_GOOD = frozenset({VerbName.CANCEL, VerbName.DROP})


class VerbWords(NamedTuple):
    """The words for one verb; those with a number take it as ``jobs`` and ``count``.

    Args:
        label: the verb itself.
        of_one: the title of an operation on jobs of one biz type.
        of_all: the title of one on jobs of all biz types.
        meaning: what becomes of each job.
        button: starts it, with the number of jobs.
        done: what became of a number of jobs; '' for a verb that only operations apply.
        question: asks before a number of jobs is changed, for a verb that nothing undoes; '' for others.
    """

    label: Promise
    of_one: Promise
    of_all: Promise
    meaning: Promise
    button: Promise
    done: str | Promise = ""
    question: str | Promise = ""


VERB_WORDS: dict[str, VerbWords] = {
    VerbName.RUN_NOW: VerbWords(
        _("Run now"),
        _("Run pending jobs of %(biz_type)s now"),
        _("Run pending jobs of all biz types now"),
        _("Each job becomes due at once. The limits of its biz type still hold."),
        ngettext_lazy("Run %(jobs)s job now", "Run %(jobs)s jobs now", "count"),
        ngettext_lazy("%(jobs)s job due now.", "%(jobs)s jobs due now.", "count"),
    ),
    VerbName.RESCHEDULE: VerbWords(
        _("Reschedule"),
        _("Reschedule pending jobs of %(biz_type)s"),
        _("Reschedule pending jobs of all biz types"),
        _("They become due at the new time, or from then on where a pace spreads them."),
        ngettext_lazy("Reschedule %(jobs)s job", "Reschedule %(jobs)s jobs", "count"),
        ngettext_lazy("%(jobs)s job moved to %(time)s.", "%(jobs)s jobs moved to %(time)s.", "count"),
    ),
    VerbName.CANCEL: VerbWords(
        _("Cancel"),
        _("Cancel pending jobs of %(biz_type)s"),
        _("Cancel pending jobs of all biz types"),
        _("Cancelled jobs never run. Nothing undoes this."),
        ngettext_lazy("Cancel %(jobs)s job", "Cancel %(jobs)s jobs", "count"),
        ngettext_lazy("%(jobs)s job cancelled.", "%(jobs)s jobs cancelled.", "count"),
        ngettext_lazy("Cancel %(jobs)s job?", "Cancel %(jobs)s jobs?", "count"),
    ),
    VerbName.REDRIVE: VerbWords(
        _("Redrive"),
        _("Redrive dead jobs of %(biz_type)s"),
        _("Redrive dead jobs of all biz types"),
        _("Each job is tried again, with a new budget of attempts and a new age. Fresh jobs go first."),
        ngettext_lazy("Redrive %(jobs)s job", "Redrive %(jobs)s jobs", "count"),
        ngettext_lazy("%(jobs)s job pending again, due now.", "%(jobs)s jobs pending again, due now.", "count"),
    ),
    VerbName.DROP: VerbWords(
        _("Drop"),
        _("Drop dead jobs of %(biz_type)s"),
        _("Drop dead jobs of all biz types"),
        _("Dropped jobs are given up for good: they can no longer be redriven."),
        ngettext_lazy("Drop %(jobs)s job", "Drop %(jobs)s jobs", "count"),
        ngettext_lazy("%(jobs)s job dropped for good.", "%(jobs)s jobs dropped for good.", "count"),
        ngettext_lazy("Drop %(jobs)s dead job?", "Drop %(jobs)s dead jobs?", "count"),
    ),
    VerbName.BACKFILL: VerbWords(
        _("Backfill"),
        _("Backfill a series of %(biz_type)s"),
        _("Backfill a series"),
        _("Each occurrence of that time that has no job gets one, which is due at once. Fresh jobs go first."),
        ngettext_lazy("Make %(jobs)s job", "Make %(jobs)s jobs", "count"),
    ),
}


def title_of(verb: str, job_filter: JobFilter) -> str:
    """What an operation does, in a few words."""
    words = VERB_WORDS[verb]
    return str(words.of_one % {"biz_type": job_filter.biz_type} if job_filter.biz_type else words.of_all)


def with_count(words: str | Promise, count: int, **values: str) -> str:
    """A text about a number of jobs, with that number and other values in it."""
    return str(words % {"count": count, "jobs": f"{count:,}", **values})
