"""Mistakes of what callers do: create, call off, move, redrive, resolve."""

from __future__ import annotations

from proof.code_mutant import CodeMutant

_VERBS = "tasksapp.jobs.verbs"
_EDITING = "tasksapp.jobs.editing"
_RESOLVING = "tasksapp.jobs.resolving"
_RESOLVED = "tasksapp.jobs.resolved"
_TOMBSTONES = "tasksapp.sql.tombstones"
_WRITING = "tasksapp.jobs.writing"
_ONE_LIVE = "tasksapp.jobs.one_live"

CALLERS = (
    CodeMutant(
        "a verb takes any status",
        _VERBS,
        "    if job.status != source:\n        raise",
        "    if False:\n        raise",
    ),
    CodeMutant(
        "a verb takes any version",
        _VERBS,
        "    if version is not None and job.version != version:",
        "    if False:",
    ),
    CodeMutant(
        "a verb leaves the version",
        _VERBS,
        '"version": row.version + 1,',
        '"version": row.version,',
    ),
    CodeMutant(
        "a moved job keeps its next run",
        _VERBS,
        '{"due_at": due, "next_run_at": due, "redriven_at": None',
        '{"due_at": due, "redriven_at": None',
    ),
    CodeMutant(
        "a redriven job keeps its budget",
        _VERBS,
        '            "attempt_base": row.attempts,\n',
        "",
        theme="retries",
    ),
    CodeMutant(
        "a redriven job is as old as it was",
        _VERBS,
        '            "redriven_at": now,\n',
        "",
        theme="retries",
    ),
    CodeMutant(
        "a redriven job keeps its errors of ours",
        _VERBS,
        '            "system_errors": 0,\n',
        "",
        theme="losses",
    ),
    CodeMutant(
        "a redriven job has ended",
        _VERBS,
        '            "finished_at": None,\n',
        "",
    ),
    CodeMutant(
        "timers follow no verb",
        _VERBS,
        "        follow([job for job in jobs if",
        "        follow([job for job in () if",
    ),
    CodeMutant(
        "a redrive does not ask for a resolve",
        _VERBS,
        "            refuse_resolved(job, lift=lift, using=using)",
        "            pass",
        theme="resolving",
    ),
    CodeMutant(
        "an edit leaves the time",
        _EDITING,
        '        values |= _moved(due_at=given.get("due_at"), delay=given.get("delay"), now=now)',
        "        pass",
    ),
    CodeMutant(
        "an edit that keeps the due time ends a retry's wait",
        _EDITING,
        '    if values.get("due_at") == job.due_at:',
        "    if False:",
        theme="asking",
    ),
    CodeMutant(
        "a resolve lays no tombstone",
        _RESOLVING,
        "is_first = lay_tombstones(untils,",
        "is_first = (lambda *_, **__: False)(untils,",
    ),
    CodeMutant(
        "a resolve leaves what waits",
        _RESOLVING,
        "            while batch := self._cancel_batch():",
        "            while batch := []:",
    ),
    CodeMutant(
        "a resolve calls off what runs",
        _RESOLVING,
        "pending = self._rows().filter(status=Transition.RESOLVE.source)",
        "pending = self._rows().filter(status__in=('pending', 'running'))",
    ),
    CodeMutant(
        "a resolve names no job that runs",
        _RESOLVING,
        "outcome.running = list(running",
        "outcome.running = list(running.none()",
    ),
    CodeMutant(
        "a resolve is of all biz types",
        _RESOLVING,
        "filter(biz_type_id__in=numbers, biz_id=self._biz_id)",
        "filter(biz_id=self._biz_id)",
    ),
    CodeMutant(
        "a tombstone has ended already",
        _RESOLVING,
        "return (biz_type.max_age or timedelta(0)) + max(longest, LONGEST_RETRY_AFTER)",
        "return timedelta(seconds=-1)",
    ),
    CodeMutant(
        "a new job of a resolved biz id is taken",
        _RESOLVED,
        "    if not resolved:\n        return outcomes\n",
        "    if True:\n        return outcomes\n",
    ),
    CodeMutant(
        "a tombstone is not marked in its biz type",
        _TOMBSTONES,
        "unmarked.update(has_tombstones=True)",
        "unmarked.count()",
    ),
    CodeMutant(
        "a created job has no timer",
        _WRITING,
        "            in_time = arm(added) and more_in_time",
        "            in_time = True",
    ),
    CodeMutant(
        "a replaced job keeps its timer",
        _WRITING,
        "self.batch.armed = (not moved or move(moved)) and in_time",
        "self.batch.armed = in_time",
    ),
    CodeMutant(
        "an idempotency key is not asked",
        _WRITING,
        "        if keyed:\n            self._claim_keys()",
        "        if False:\n            self._claim_keys()",
    ),
    CodeMutant(
        "a job is created and not stored",
        _WRITING,
        "            insert_jobs(rows, now=batch.now",
        "            (lambda *_, **__: prepare())(rows, now=batch.now",
    ),
    CodeMutant(
        "a second live job is made",
        _ONE_LIVE,
        'return request.biz_type.one_live != BizType.OneLive.ANY and request.row.biz_id != ""',
        "return False",
        theme="single",
    ),
)
