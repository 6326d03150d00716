"""Mistakes of PostgreSQL's statements, where SQLite's side has others."""

from __future__ import annotations

from proof.statement_mutant import StatementMutant

POSTGRESQL = (
    StatementMutant(
        "a claim of PostgreSQL's looks for no tombstone",
        "WHEN b.has_tombstones AND ",
        "WHEN false AND ",
        theme="resolving",
    ),
    StatementMutant(
        "a claim of PostgreSQL's counts no attempt at most once",
        "AND seen.guarantee = 'at_most_once' THEN 1",
        "AND seen.guarantee = 'at_most_once' THEN 0",
    ),
    StatementMutant(
        "a claim of PostgreSQL's leaves the version",
        "version = j.version + CASE seen.decision",
        "version = j.version + 0 * CASE seen.decision",
    ),
    StatementMutant(
        "a claim of PostgreSQL's writes another token",
        "lease_token = CASE seen.decision",
        "lease_token = 1 + CASE seen.decision",
    ),
    StatementMutant(
        "a lease of PostgreSQL's is without the timeout",
        " + seen.timeout_seconds)",
        ")",
    ),
    StatementMutant(
        "what was redriven expires on PostgreSQL",
        " AND j.redriven_at IS NULL\n                THEN CASE",
        "\n                THEN CASE",
        theme="expiry",
    ),
    StatementMutant(
        "what was tried is too late on PostgreSQL",
        "WHEN j.attempts = j.attempt_base AND j.redriven_at IS NULL AND b.when_late",
        "WHEN j.redriven_at IS NULL AND b.when_late",
        theme="lateness",
    ),
    StatementMutant(
        "what was redriven is as old as it was on PostgreSQL",
        " - coalesce(j.redriven_at, j.due_at) > b.max_age",
        " - j.due_at > b.max_age",
        theme="retries",
    ),
    StatementMutant(
        "a claimed job keeps its debounce key on PostgreSQL",
        "THEN j.debounce_key ELSE '' END",
        "THEN j.debounce_key ELSE j.debounce_key END",
        theme="debounce",
    ),
    StatementMutant(
        "an outcome is written by any lease on PostgreSQL",
        " AND j.lease_token = o.token",
        "",
        theme="zombies",
    ),
    StatementMutant(
        "an outcome counts no attempt on PostgreSQL",
        "attempts = j.attempts + o.counted",
        "attempts = j.attempts",
    ),
    StatementMutant(
        "what was resolved is tried again on PostgreSQL",
        "CASE WHEN t.outcome = '' THEN o.status",
        "CASE WHEN t.outcome = '' THEN o.status = '' AND o.status",
        theme="resolving",
    ),
    StatementMutant(
        "an outcome leaves the lease on PostgreSQL",
        "lease_until = NULL, lease_token = NULL",
        "lease_until = j.lease_until, lease_token = NULL",
    ),
    StatementMutant(
        "an outcome logs no attempt on PostgreSQL",
        "FROM done WHERE number IS NOT NULL",
        "FROM done WHERE number > 1",
    ),
    StatementMutant(
        "an operation counts no death on PostgreSQL",
        "dead = p.dead + c.dead",
        "dead = p.dead",
        theme="asking",
    ),
    StatementMutant(
        "any lease is renewed on PostgreSQL",
        " AND j.lease_token = held.token",
        "",
        theme="zombies",
    ),
    StatementMutant(
        "an idempotency key is taken from its holder",
        "WHERE delayhub_idempotency_key.expires_at <=",
        "WHERE true OR delayhub_idempotency_key.expires_at <=",
    ),
    StatementMutant(
        "a claim of PostgreSQL's takes what waits for another",
        " AS waiting,",
        " AND false AS waiting,",
        theme="keeping",
    ),
    StatementMutant(
        "a claim of PostgreSQL's takes whatever is in order",
        " AS ordered,",
        " AND false AS ordered,",
        theme="lines",
    ),
    StatementMutant(
        "a dead job lets its flow key go where it should not",
        "b.ordered = 'dead_blocks'",
        "b.ordered = ''",
        theme="lines",
    ),
    StatementMutant(
        "an answer saves no job that dies on PostgreSQL",
        "ELSE coalesce(o.hears, false) END",
        "ELSE false END",
        theme="answers",
    ),
)
