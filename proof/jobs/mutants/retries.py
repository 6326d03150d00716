"""Mistakes of the retry policy."""

from __future__ import annotations

from proof.code_mutant import CodeMutant

_RETRY_POLICY = "tasksapp.jobs.retry_policy"

RETRIES = (
    CodeMutant(
        "one attempt too many",
        _RETRY_POLICY,
        "if failures >= self.max_attempts:",
        "if failures > self.max_attempts:",
        theme="retries",
    ),
    CodeMutant(
        "one attempt too few",
        _RETRY_POLICY,
        "if failures >= self.max_attempts:",
        "if failures + 1 >= self.max_attempts:",
    ),
    CodeMutant(
        "a list begins with its second wait",
        _RETRY_POLICY,
        "waits[min(failures, len(waits)) - 1]",
        "waits[min(failures + 1, len(waits)) - 1]",
    ),
    CodeMutant(
        "the longest wait does not hold",
        _RETRY_POLICY,
        "return min(wait, kind.backoff_max_seconds)",
        "return wait",
        theme="retries",
    ),
    CodeMutant(
        "a linear wait does not grow",
        _RETRY_POLICY,
        "wait = kind.backoff_min_seconds * failures",
        "wait = kind.backoff_min_seconds",
        theme="retries",
    ),
    CodeMutant(
        "an exponential wait begins one step later",
        _RETRY_POLICY,
        "wait = self._exponential(failures - 1)",
        "wait = self._exponential(failures)",
        theme="retries",
    ),
    CodeMutant(
        "what the receiver asks for is not heard",
        _RETRY_POLICY,
        "wait = max(wait, timedelta(seconds=asked))",
        "pass",
        theme="ageing",
    ),
    CodeMutant(
        "the receiver may ask for less than the backoff",
        _RETRY_POLICY,
        "wait = max(wait, timedelta(seconds=asked))",
        "wait = timedelta(seconds=asked)",
        theme="ageing",
    ),
    CodeMutant(
        "the age allows a retry that comes later",
        _RETRY_POLICY,
        "if age_used_up(now=now + wait,",
        "if age_used_up(now=now,",
        theme="ageing",
    ),
    CodeMutant(
        "what the receiver asks for goes beyond the age",
        _RETRY_POLICY,
        "            if max_age is not None:\n                longest",
        "            if False:\n                longest",
        theme="ageing",
    ),
    CodeMutant(
        "a retry may come after the job expires",
        _RETRY_POLICY,
        "if self.expires_at is not None and now + wait >= self.expires_at:",
        "if False:",
        theme="expiry",
    ),
)
