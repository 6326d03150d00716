"""Mistakes of answers: which job takes one, and what follows."""

from __future__ import annotations

from proof.code_mutant import CodeMutant

_ANSWERS = "tasksapp.sql.answers"
_CALLED_OFF = "tasksapp.jobs.called_off"

ANSWERS = (
    CodeMutant(
        "an answer is taken by whoever ends",
        _ANSWERS,
        'table.filter(named, outcome__gt="", answered_job=None)',
        'table.filter(named, outcome__gt="")',
        theme="answers",
    ),
    CodeMutant(
        "who took an answer is not noted",
        _ANSWERS,
        "            table.filter(pk=row.pk).update(**values)\n            taken",
        "            taken",
        theme="answers",
    ),
    CodeMutant(
        "an answer makes nothing that follows",
        _CALLED_OFF,
        "        if followed := [",
        "        if False and [",
        theme="answers",
    ),
    CodeMutant(
        "what is called off without an answer is followed",
        "tasksapp.jobs.follow_ups",
        'return self.biz_type.on_resolved if self.answer else ""',
        "return self.biz_type.on_resolved",
        theme="answers",
    ),
    CodeMutant(
        "an answer saves no job that dies",
        "tasksapp.jobs.completer",
        "if completion.may_be_resolved}",
        "if False}",
        theme="answers",
    ),
    CodeMutant(
        "an answer saves no job whose workers were lost",
        "tasksapp.sql.leases",
        "job.biz_type.on_resolved and answered_ids(",
        "False and answered_ids(",
        theme="lost answers",
    ),
    CodeMutant(
        "a claim ends what was answered without what follows",
        "tasksapp.jobs.claim_ends",
        "        return bool(job.biz_type.on_resolved)\n",
        "        return False\n",
        theme="answers",
    ),
    CodeMutant(
        "who asks late is not looked at again",
        "tasksapp.jobs.creation",
        "        _look_again(writing)",
        "        pass",
        theme="answers",
    ),
)
