"""Mistakes of the claim: which rows become whose."""

from __future__ import annotations

from proof.code_mutant import CodeMutant

_CLAIM_JOBS = "tasksapp.sql.claim_jobs"
_CLAIMER = "tasksapp.jobs.claimer"
_CLAIM_ENDS = "tasksapp.jobs.claim_ends"
_TASKS = "tasksapp.tasks"

CLAIMS = (
    CodeMutant(
        "a claim takes what is not pending",
        _CLAIM_JOBS,
        "    if job.status != Transition.CLAIM.source or bool(forward",
        "    if bool(forward",
    ),
    CodeMutant(
        "a claim takes what is not due",
        _CLAIM_JOBS,
        "job.biz_type.is_pulled != pulling or job.next_run_at > now",
        "job.biz_type.is_pulled != pulling",
    ),
    CodeMutant(
        "a claim comes a second early",
        _CLAIM_JOBS,
        "pulling or job.next_run_at > now",
        "pulling or job.next_run_at > now + timedelta(seconds=1)",
        theme="early",
    ),
    CodeMutant(
        "a claim looks for no tombstone",
        _CLAIM_JOBS,
        "ended.get(job.id) or decision_of(",
        "decision_of(",
    ),
    CodeMutant(
        "a claim counts no attempt at most once",
        _CLAIM_JOBS,
        "counted = decision is Decision.RUN and biz_type.guarantee",
        "counted = False and biz_type.guarantee",
    ),
    CodeMutant(
        "a claim leaves the version",
        _CLAIM_JOBS,
        'values |= {"version": F("version") + 1, "debounce_key": ""}',
        'values |= {"debounce_key": ""}',
    ),
    CodeMutant(
        "a claimed job keeps its debounce key",
        _CLAIM_JOBS,
        'values |= {"version": F("version") + 1, "debounce_key": ""}',
        'values |= {"version": F("version") + 1}',
        theme="debounce",
    ),
    CodeMutant(
        "a lease is without the timeout",
        _CLAIM_JOBS,
        "seconds = lease + biz_type.timeout_seconds if whole_lease",
        "seconds = lease if whole_lease",
    ),
    CodeMutant(
        "a claim writes no token",
        _CLAIM_JOBS,
        '"lease_until": now + timedelta(seconds=seconds), "lease_token": token}',
        '"lease_until": now + timedelta(seconds=seconds)}',
    ),
    CodeMutant(
        "what expires runs",
        _CLAIM_JOBS,
        "if job.expires_at is not None and job.expires_at <= now and job.redriven_at is None:",
        "if False:",
        theme="expiry",
    ),
    CodeMutant(
        "what was redriven expires",
        _CLAIM_JOBS,
        "job.expires_at <= now and job.redriven_at is None:",
        "job.expires_at <= now:",
        theme="expiry",
    ),
    CodeMutant(
        "what lapsed counts as never tried",
        _CLAIM_JOBS,
        "return Decision.LAPSED if job.attempts_used else Decision.EXPIRED",
        "return Decision.EXPIRED",
        theme="expiry",
    ),
    CodeMutant(
        "age does not matter",
        _CLAIM_JOBS,
        "    if age_used_up(now=now, counted_from=age_begins(job), max_age=biz_type.max_age):",
        "    if False:",
    ),
    CodeMutant(
        "lateness counts after an attempt too",
        _CLAIM_JOBS,
        "        and not job.attempts_used\n",
        "",
        theme="lateness",
    ),
    CodeMutant(
        "lateness counts after a redrive too",
        _CLAIM_JOBS,
        "        and job.redriven_at is None\n        and now",
        "        and now",
        theme="lateness",
    ),
    CodeMutant(
        "lateness does not matter",
        _CLAIM_JOBS,
        "now - job.due_at > biz_type.max_lateness",
        "False",
        theme="lateness",
    ),
    CodeMutant(
        "deaths make no follow-up at a claim",
        _CLAIM_ENDS,
        "return bool(decision.is_death and job.biz_type.on_dead)",
        "return False",
    ),
    CodeMutant(
        "a job that is ended apart stays as it is",
        _CLAIM_ENDS,
        "ended = expire_jobs(ids, now",
        "ended = expire_jobs([], now",
    ),
    CodeMutant(
        "what is not due gets no timer again",
        _CLAIMER,
        "        if later:\n            self._arm_again(later)",
        "        if False:\n            self._arm_again(later)",
    ),
    CodeMutant(
        "what is not due gets its timer at once",
        _CLAIMER,
        "at=later[job.id]) for job in jobs])",
        "at=None) for job in []])",
    ),
    CodeMutant(
        "a claim frees no slot of what does not run",
        _CLAIMER,
        "self._free_slots([*spent, *answer.gone], timers_ms=now_ms)\n        return answer\n\n    def claim_found",
        "return answer\n\n    def claim_found",
    ),
    CodeMutant(
        "due jobs are claimed and not handed over",
        _TASKS,
        "    runtime.hand_over(answer, claimed_at=claimed_at)",
        "    pass",
    ),
)
