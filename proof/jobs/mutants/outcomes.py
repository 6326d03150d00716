"""Mistakes of outcomes: what is written of an attempt, and what follows from it."""

from __future__ import annotations

from proof.code_mutant import CodeMutant

_WRITE_OUTCOMES = "tasksapp.sql.write_outcomes"
_FOLLOWERS = "tasksapp.jobs.outcome_followers"
_COMPLETER = "tasksapp.jobs.completer"
_BULK = "tasksapp.jobs.bulk"
_COMPLETION = "tasksapp.jobs.completion"
_FOLLOW_UPS = "tasksapp.jobs.follow_ups"

OUTCOMES = (
    CodeMutant(
        "an outcome needs no lease",
        _WRITE_OUTCOMES,
        "ours = jobs.filter(id__in=ids, status=_RUNNING, lease_token=outcome.token)",
        "ours = jobs.filter(id__in=ids, status=_RUNNING)",
        theme="zombies",
    ),
    CodeMutant(
        "an outcome is written to a row that does not run",
        _WRITE_OUTCOMES,
        "ours = jobs.filter(id__in=ids, status=_RUNNING, lease_token=outcome.token)",
        "ours = jobs.filter(id__in=ids)",
        theme="zombies",
    ),
    CodeMutant(
        "an outcome counts no attempt",
        _WRITE_OUTCOMES,
        'attempts=F("attempts") + outcome.counted,',
        'attempts=F("attempts"),',
    ),
    CodeMutant(
        "an outcome leaves the time",
        _WRITE_OUTCOMES,
        '{} if outcome.next_run_at is None else {"next_run_at": outcome.next_run_at}',
        "{}",
    ),
    CodeMutant(
        "an outcome leaves the lease",
        _WRITE_OUTCOMES,
        "                lease_until=None,\n                lease_token=None,\n",
        "                lease_until=None,\n",
    ),
    CodeMutant(
        "an outcome leaves the version",
        _WRITE_OUTCOMES,
        '                version=F("version") + 1,\n                lease_until=None,',
        "                lease_until=None,",
    ),
    CodeMutant(
        "a retry is not called off after a resolve",
        _WRITE_OUTCOMES,
        "        called = _resolve_retries(again, now=now, using=using, hearing=hearing)",
        "        called = set()",
        theme="resolving",
    ),
    CodeMutant(
        "an operation counts no success",
        _WRITE_OUTCOMES,
        "sum(kind.status == _SUCCEEDED for kind, _ in kinds)",
        "0",
    ),
    CodeMutant(
        "an attempt is logged that does not count",
        _WRITE_OUTCOMES,
        "if outcome.tried is not None and outcome.job_id in written",
        "if outcome.tried is not None",
        theme="zombies",
    ),
    CodeMutant(
        "an attempt is not logged",
        _WRITE_OUTCOMES,
        "if outcome.tried is not None and outcome.job_id in written",
        "if False",
    ),
    CodeMutant(
        "a job that waits again has an end",
        _WRITE_OUTCOMES,
        "finished_at=None if outcome.status == _PENDING else now",
        "finished_at=now",
    ),
    CodeMutant(
        "a retry sets no timer",
        _COMPLETER,
        "            move(again)\n",
        "            pass\n",
    ),
    CodeMutant(
        "a retry's timer is set at the old time",
        _COMPLETER,
        "completion.job.biz_type, at=completion.finished.next_run_at)",
        "completion.job.biz_type, at=None)",
        theme="retries",
    ),
    CodeMutant(
        "a retry's timer is ensured, not put",
        _COMPLETER,
        "            move(again)\n",
        "            __import__('tasksapp.timers.arming', fromlist=['x']).ensure_timers(again)\n",
    ),
    CodeMutant(
        "a slot is not freed",
        _COMPLETER,
        "            settle(lane, queue, ids, ended_ms=self._clock.now_ms())\n",
        "            pass\n",
        theme="places",
    ),
    CodeMutant(
        "follow-ups are made for outcomes that do not count",
        _COMPLETER,
        "if job.id in written and job.status != _AGAIN]",
        "if job.status != _AGAIN]",
        theme="zombies",
    ),
    CodeMutant(
        "follow-ups are made outside of the transaction",
        _COMPLETER,
        "        if not following:\n            return write_outcomes(",
        "        if following:\n"
        "            make_follow_ups([one.ended for one in following], using=self._using)\n"
        "        if True:\n"
        "            return write_outcomes(",
    ),
    CodeMutant(
        "follow-ups are not made",
        _COMPLETER,
        "        if not following:\n",
        "        if True:\n",
    ),
    CodeMutant(
        "others are not called off",
        _FOLLOWERS,
        "        if not one.cancel_others or not row.biz_id:\n",
        "        if True:\n",
        theme="others",
    ),
    CodeMutant(
        "others of no biz id are called off",
        _FOLLOWERS,
        "not one.cancel_others or not row.biz_id",
        "not one.cancel_others",
        theme="others",
    ),
    CodeMutant(
        "others of all biz types are called off",
        _FOLLOWERS,
        "            biz_type_id=row.biz_type_id, biz_id=",
        "            biz_id=",
        theme="others",
    ),
    CodeMutant(
        "a job is called off that runs",
        _BULK,
        "status=verb.source, biz_type__moved_to",
        "status__in=('pending', 'running', 'dead'), biz_type__moved_to",
    ),
    CodeMutant(
        "at most once is tried again",
        _COMPLETION,
        "    if job.counted_at_claim and not unsent:",
        "    if False:",
    ),
    CodeMutant(
        "at most once is not tried again though unsent",
        _COMPLETION,
        "    if job.counted_at_claim and not unsent:",
        "    if job.counted_at_claim:",
    ),
    CodeMutant(
        "an attempt that was returned counts",
        _COMPLETION,
        "    uncounted = -1 if job.counted_at_claim else 0",
        "    uncounted = 0",
        theme="waiting",
    ),
    CodeMutant(
        "an attempt counts twice at most once",
        _COMPLETION,
        "    return 0 if job.counted_at_claim else 1",
        "    return 1",
    ),
    CodeMutant(
        "a retry comes after the end",
        _COMPLETION,
        "ends = job.row.expires_at if job.row.redriven_at is None else None",
        "ends = None",
        theme="expiry",
    ),
    CodeMutant(
        "a bulk redrive does not ask for a resolve",
        _BULK,
        "            batch = batch.filter(not_resolved())",
        "            pass",
        theme="resolving",
    ),
    CodeMutant(
        "a follow-up is made twice",
        _FOLLOW_UPS,
        "        made = _made([",
        "        _made([request for _, request in requests], tenant_id=tenant_id, now=now, using=using)\n"
        "        made = _made([",
    ),
)
