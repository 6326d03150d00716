"""Mistakes of strict order: which job of a flow key is the first, and who wakes the next one."""

from __future__ import annotations

from proof.code_mutant import CodeMutant

_ORDERED_KEYS = "tasksapp.sql.ordered_keys"

LINES = (
    CodeMutant(
        "a claim takes whatever is in order",
        "tasksapp.sql.ordered_claims",
        "job.biz_type.is_ordered and job.place is not None and not in_turn",
        "False",
        theme="lines",
    ),
    CodeMutant(
        "whatever is asked for is the first of its key",
        _ORDERED_KEYS,
        "if first.get(key) == job_id else turns.blocked",
        "if True else turns.blocked",
        theme="lines",
    ),
    CodeMutant(
        "a key forgets who has begun",
        _ORDERED_KEYS,
        "            cursor.execute(_BEGIN.format(",
        '            cursor.execute(_BEGIN.replace("begun_due_at = j.due_at", "begun_due_at = NULL").format(',
        theme="lines",
    ),
    CodeMutant(
        "new jobs get no place",
        "tasksapp.jobs.writing",
        "            fresh = self._placed(fresh)",
        "            pass",
        theme="lines",
    ),
    CodeMutant(
        "the first job of a key gets no timer",
        "tasksapp.jobs.writing",
        "self.batch.armed = arm_keys(keys, using=self.batch.using) and self.batch.armed",
        "pass",
        theme="lines",
    ),
    CodeMutant(
        "an outcome wakes no flow key",
        "tasksapp.jobs.flow_order",
        "        wake_keys(keys, using=outcomes.using)",
        "        pass",
        theme="lines",
    ),
    CodeMutant(
        "who is called off wakes no flow key",
        "tasksapp.jobs.verbs",
        "        if ordered:\n            wake_keys(ordered, using=using)",
        "        if False:\n            wake_keys(ordered, using=using)",
        theme="lines",
    ),
    CodeMutant(
        "who ends as it is claimed wakes no flow key",
        "tasksapp.jobs.flow_order",
        "wake_keys_of([*answer.blocked, *answer.ended]",
        "wake_keys_of([*answer.blocked]",
        theme="lines",
    ),
    CodeMutant(
        "who died with its worker wakes no flow key",
        "tasksapp.maintenance.lost_leases",
        "                wake_keys(ordered, using=self._using)",
        "                pass",
        theme="lost lines",
    ),
    CodeMutant(
        "any job of a key is run at once",
        "tasksapp.jobs.verbs",
        "            refuse_not_first(job, using=using)",
        "            pass",
        theme="lines",
    ),
    CodeMutant(
        "many jobs of a key are run at once",
        "tasksapp.jobs.bulk",
        "not_first(list(before), using=using) if verb is Verb.RUN_NOW else set()",
        "set()",
        theme="lines",
    ),
    CodeMutant(
        "the loader looks for no first jobs",
        "tasksapp.maintenance.loader",
        "                armed += self._arm_first(waiting[key], now=now)",
        "                pass",
        theme="lost lines",
    ),
)
