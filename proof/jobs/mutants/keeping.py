"""Mistakes of biz types that keep the last job of a biz id beside the one that runs."""

from __future__ import annotations

from proof.code_mutant import CodeMutant

_KEEP_LAST = "tasksapp.sql.keep_last"
_FOLLOWERS = "tasksapp.jobs.outcome_followers"

KEEPING = (
    CodeMutant(
        "a claim takes what waits for another",
        _KEEP_LAST,
        "in_turn: is_waiting(job.live_key)",
        "in_turn: False",
        theme="keeping",
    ),
    CodeMutant(
        "what waits takes the place of what has begun",
        _KEEP_LAST,
        "return waiting_key(biz_id) if one_live == BizType.OneLive.LAST else biz_id",
        "return biz_id",
        theme="keeping",
    ),
    CodeMutant(
        "what waits begins beside another",
        _KEEP_LAST,
        ".exclude(Exists(other))",
        "",
        equivalent="the unique index refuses it a moment later",
    ),
    CodeMutant(
        "what is behind another is not put off",
        _KEEP_LAST,
        "        jobs.filter(id__in=behind).update(next_run_at=now + WAIT)\n",
        "",
        theme="keeping",
    ),
    CodeMutant(
        "what begins at last is late by then",
        _KEEP_LAST,
        '"due_at": Greatest("due_at", "next_run_at")',
        '"due_at": F("due_at")',
        theme="keeping",
    ),
    CodeMutant(
        "an end wakes nobody",
        _FOLLOWERS,
        "        for one in outcomes.kept\n        if one.job",
        "        for one in ()\n        if one.job",
        theme="keeping",
    ),
    CodeMutant(
        "a retry wakes what waits",
        _FOLLOWERS,
        "== BizType.OneLive.LAST and not one.runs_again",
        "== BizType.OneLive.LAST",
        theme="keeping",
    ),
    CodeMutant(
        "a woken job gets no timer",
        _FOLLOWERS,
        "return [Timer.of(job, job.biz_type) for job in woken]\n\n\ndef _cancel_others",
        "return []\n\n\ndef _cancel_others",
        theme="keeping",
    ),
    CodeMutant(
        "what is not due is woken",
        _KEEP_LAST,
        "status=_PENDING, due_at__lte=now)",
        "status=_PENDING)",
        theme="keeping",
    ),
    CodeMutant(
        "of several of a biz id in a bulk the timer is not the last one's",
        "tasksapp.jobs.writing",
        "        moved += latest.values()",
        "        moved += list(latest.values())[:-1]",
        theme="keeping",
    ),
)
