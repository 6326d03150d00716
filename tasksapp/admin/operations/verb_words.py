"""What pages say of each verb that an operation applies: in titles, explanations and on buttons."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import Operation

VerbName = Operation.VerbName

#: Verbs after which the jobs run: they have outcomes. Those of ``HAS_TRIAL`` run at once, so some can be tried first.
RUNS = frozenset({VerbName.REDRIVE, VerbName.RUN_NOW, VerbName.RESCHEDULE, VerbName.BACKFILL})
HAS_TRIAL = frozenset({VerbName.REDRIVE, VerbName.RUN_NOW, VerbName.BACKFILL})
#: Verbs that nothing undoes.
FOR_GOOD = frozenset({VerbName.CANCEL, VerbName.DROP})


class VerbWords(NamedTuple):
    """The words for one verb.

    Args:
        label: the verb itself.
        of_one: the title of an operation on jobs of one biz type.
        of_all: the title of one on jobs of all biz types.
        meaning: what becomes of each job.
        button: starts it, with the number of jobs.
    """

    label: Promise
    of_one: Promise
    of_all: Promise
    meaning: Promise
    button: Promise


VERB_WORDS: dict[str, VerbWords] = {
    VerbName.REDRIVE: VerbWords(
        _("Redrive"),
        _("Redrive dead jobs of %(biz_type)s"),
        _("Redrive dead jobs of all biz types"),
        _("Each job is tried again, with a new budget of attempts and a new age. Fresh jobs go first."),
        ngettext_lazy("Redrive %(jobs)s job", "Redrive %(jobs)s jobs", "count"),
    ),
    VerbName.RUN_NOW: VerbWords(
        _("Run now"),
        _("Run pending jobs of %(biz_type)s now"),
        _("Run pending jobs of all biz types now"),
        _("Each job becomes due at once. The limits of its biz type still hold."),
        ngettext_lazy("Run %(jobs)s job now", "Run %(jobs)s jobs now", "count"),
    ),
    VerbName.RESCHEDULE: VerbWords(
        _("Reschedule"),
        _("Reschedule pending jobs of %(biz_type)s"),
        _("Reschedule pending jobs of all biz types"),
        _("They become due at the new time, or from then on where a pace spreads them."),
        ngettext_lazy("Reschedule %(jobs)s job", "Reschedule %(jobs)s jobs", "count"),
    ),
    VerbName.CANCEL: VerbWords(
        _("Cancel"),
        _("Cancel pending jobs of %(biz_type)s"),
        _("Cancel pending jobs of all biz types"),
        _("Cancelled jobs never run. Nothing undoes this."),
        ngettext_lazy("Cancel %(jobs)s job", "Cancel %(jobs)s jobs", "count"),
    ),
    VerbName.DROP: VerbWords(
        _("Drop"),
        _("Drop dead jobs of %(biz_type)s"),
        _("Drop dead jobs of all biz types"),
        _("Dropped jobs are given up for good: they can no longer be redriven."),
        ngettext_lazy("Drop %(jobs)s job", "Drop %(jobs)s jobs", "count"),
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


def with_count(words: Promise, count: int) -> str:
    """A text about a number of jobs, with that number in it."""
    return str(words % {"count": count, "jobs": f"{count:,}"})
