"""Modules that are tested through others: the test that covers each, and why it needs none of its own."""

from __future__ import annotations

TESTED_THROUGH = {
    "delayhub/engine/timer_claim.py": (
        "tests/integration/delayhub/engine/test_timer_lane.py",
        "a lane's claims are made and read by it",
    ),
    "delayhub/engine/stored_gate.py": (
        "tests/integration/tasksapp/biz_types/test_gates.py",
        "the loader reads there what is stored, and writes what differs",
    ),
    "tasksapp/sql/ordered_claims.py": (
        "tests/integration/tasksapp/sql/test_ordered_keys.py",
        "claims of jobs in order go by it",
    ),
    "tasksapp/jobs/outcome_followers.py": (
        "tests/integration/tasksapp/extending/test_outcome_hooks.py",
        "its hooks are called there; what they do is tested with the completer",
    ),
    "tasksapp/models/authorization.py": (
        "tests/unit/tasksapp/biz_types/test_token_request.py",
        "its columns are what is asked there",
    ),
    "tasksapp/biz_types/failure_counter.py": (
        "tests/integration/tasksapp/biz_types/test_breaker.py",
        "it is what opens and heals breakers",
    ),
    **{
        f"delayhub/redis_cluster/{module}.py": (
            "tests/integration/delayhub/redis_cluster/test_cluster_client.py",
            "the client stands on them, and a real cluster refuses and moves",
        )
        for module in ("cluster_pool", "refusals")
    },
    **{
        f"delayhub/{module}.py": (
            "tests/integration/delayhub/beat/test_shared_ticks_scheduler.py",
            "whole turns of beats show it",
        )
        for module in ("beat/tended_entries", "transport/occurrence")
    },
    "delayhub/transport/unique_publish.py": (
        "tests/integration/delayhub/celery_support/test_unique_send.py",
        "calls of unique tasks are published there",
    ),
    "delayhub/engine/task_name.py": (
        "tests/integration/delayhub/engine/test_limits_flow_keys.py",
        "messages are found by their task there",
    ),
    "delayhub/celery_support/share_limits.py": (
        "tests/integration/delayhub/celery_support/test_task_limits.py",
        "a worker's step declares limits there",
    ),
    "tasksapp/admin/celery_queues/broker_pages.py": (
        "tests/integration/tasksapp/admin/celery_queues/test_celery_queue_admin.py",
        "pages below that of all queues, also while Redis is away",
    ),
    "tasksapp/models/new_job.py": (
        "tests/integration/tasksapp/sql/test_insert_jobs.py",
        "rows are made of new jobs there; what they carry is encrypted in test_at_rest.py",
    ),
    "tasksapp/models/sealable.py": (
        "tests/integration/tasksapp/jobs/test_at_rest.py",
        "such columns are looked into and read there",
    ),
    "tasksapp/models/missing_follow_up.py": (
        "tests/integration/tasksapp/jobs/test_made_again.py",
        "rows are stored there where something is missing, and deleted",
    ),
    "tasksapp/models/answer_link.py": (
        "tests/integration/tasksapp/jobs/test_answer_links.py",
        "links are made and used there, and their questions encrypted",
    ),
    "tasksapp/models/job_keys.py": ("tests/integration/tasksapp/biz_types/test_flow_keys.py", "keys are paused"),
    "delayhub/cli/mcp_command.py": (
        "tests/integration/delayhub/agents/test_server.py",
        "a client of the official SDK calls each tool",
    ),
    "delayhub/cli/pull_command.py": ("tests/acceptance/test_pull.py", "a command is run on a live site"),
    "tasksapp/pulling/held_claim.py": (
        "tests/integration/tasksapp/api/claims/test_views.py",
        "pullers claim over HTTP, and their claims end there",
    ),
    **{
        f"delayhub/cli/{module}.py": ("tests/integration/delayhub/cli/test_main.py", "typed commands show what it does")
        for module in (
            *("__main__", "biz_type_commands", "job_input", "job_links", "key_commands"),
            *("operation_commands", "profile_commands", "series_commands", "session", "site_options", "stats_commands"),
        )
    },
    "delayhub/cli/job_display.py": ("tests/unit/delayhub/cli/test_output.py", "jobs are shown there"),
    **{
        f"delayhub/{module}.py": (
            "tests/integration/delayhub/test_api_models.py",
            "each verb and each model is compared with the OpenAPI document",
        )
        for module in (
            *("api_models/jobs", "api_models/operations"),
            *(
                f"client/asynchronous/{verbs}"
                for verbs in ("audit", "biz_types", "claims", "jobs", "keys", "operations", "series", "stats")
            ),
            *(
                f"client/synchronous/{verbs}"
                for verbs in ("audit", "biz_types", "keys", "operations", "series", "stats")
            ),
        )
    },
    **{
        f"delayhub/client/{side}/client.py": ("tests/integration/delayhub/client/test_client.py", "it asks a live site")
        for side in ("asynchronous", "synchronous")
    },
    **{
        f"delayhub/client/{module}.py": (
            "tests/unit/delayhub/client/synchronous/test_connection.py",
            "the synchronous connection is made from the other, and makes all errors of answers",
        )
        for module in ("asynchronous/connection",)
    },
    "tasksapp/jobs/writing.py": ("tests/integration/tasksapp/jobs/test_creation.py", "creates go through it"),
    "tasksapp/jobs/resolved.py": ("tests/integration/tasksapp/jobs/test_resolving.py", "what it refuses follows one"),
    "tasksapp/sql/make_live.py": ("tests/integration/tasksapp/jobs/test_one_live.py", "redrives collide there"),
    "tasksapp/sql/insert_live_jobs.py": ("tests/integration/tasksapp/jobs/test_one_live.py", "creates go through it"),
    "tasksapp/alerts/conditions.py": (
        "tests/integration/tasksapp/alerts/test_book.py",
        "an alert has its key",
    ),
    "tasksapp/alerts/composer.py": (
        "tests/integration/tasksapp/alerts/test_outbox.py",
        "the messages are read where they arrive",
    ),
    "tasksapp/delivery/single_callback.py": (
        "tests/integration/tasksapp/biz_types/test_sample_call.py",
        "a callback that a person sends is the only one of its process",
    ),
    "tasksapp/alerts/sentences.py": (
        "tests/integration/tasksapp/alerts/test_outbox.py",
        "the messages are read where they arrive",
    ),
    "tasksapp/alerts/outage_record.py": (
        "tests/integration/tasksapp/alerts/test_database_outage.py",
        "processes that share it tell an outage once",
    ),
    "tasksapp/admin/celery_queues/rows.py": (
        "tests/integration/tasksapp/admin/celery_queues/test_celery_queue_admin.py",
        "the rows show on the pages",
    ),
    **{
        f"tasksapp/transfer/{module}.py": (
            "tests/integration/tasksapp/transfer/test_importer.py",
            "rows and their secrets go there and back",
        )
        for module in ("record", "transfer_key")
    },
    **{
        f"tasksapp/management/{module}.py": (
            "tests/integration/tasksapp/management/commands/test_export_jobs.py",
            "what one command writes the other reads",
        )
        for module in ("commands/import_jobs", "arguments")
    },
    "tasksapp/transfer/departure.py": (
        "tests/integration/tasksapp/transfer/test_mover.py",
        "a tenant leaves in whole moves",
    ),
    "tasksapp/management/commands/move_tenant.py": (
        "tests/integration/tasksapp/transfer/test_mover_failures.py",
        "the command says what to do where a move fails",
    ),
    "tasksapp/maintenance/resealer.py": (
        "tests/integration/tasksapp/management/commands/test_reseal.py",
        "the command runs it",
    ),
    "tasksapp/admin/frame/own_request.py": (
        "tests/integration/tasksapp/admin/series/test_series_admin.py",
        "the fields are typed there, and shown",
    ),
    "delayhub/transport/kombu_versions.py": (
        "tests/unit/delayhub/transport/test_transport_contract.py",
        "its classes have all that is relied on, on each version that `make matrix` runs",
    ),
    "delayhub/transport/broker_pool.py": (
        "tests/integration/tasksapp/timers/test_broker.py",
        "the timers' client is made by it, for each kind of broker",
    ),
    "tasksapp/sql/biz_type_revision.py": (
        "tests/integration/tasksapp/biz_types/test_cache.py",
        "the cache asks it whether a row has changed",
    ),
    "tasksapp/operations/changes.py": (
        "tests/integration/tasksapp/maintenance/test_operation_turns.py",
        "whole turns show what it changes in rows and timers",
    ),
    "tasksapp/operations/planner.py": (
        "tests/integration/tasksapp/operation_runs.py",
        "each test of an operation plans it by this",
    ),
    "tasksapp/biz_types/editing.py": (
        "tests/integration/tasksapp/api/biz_types/test_changes.py",
        "the views show what editing refuses and stores",
    ),
    "tasksapp/api/biz_types/access.py": (
        "tests/integration/tasksapp/api/biz_types/test_changes.py",
        "the views find biz types by it: those that are seen",
    ),
    "tasksapp/api/biz_types/requests.py": (
        "tests/integration/tasksapp/api/http/test_problem_schema.py",
        "the schema has BizTypeRequest and the others, with their examples",
    ),
    "tasksapp/api/stats/representation.py": (
        "tests/integration/tasksapp/api/stats/test_views.py",
        "the views show the numbers: stats, issues",
    ),
    "tasksapp/api/operations/requests.py": (
        "tests/integration/tasksapp/api/operations/test_views.py",
        "the views show what it refuses",
    ),
    "tasksapp/api/series/requests.py": (
        "tests/integration/tasksapp/api/series/test_views.py",
        "the views show what it refuses",
    ),
    **{
        f"tasksapp/admin/series/{module}.py": (
            "tests/integration/tasksapp/admin/series/test_series_admin.py",
            "the pages show it",
        )
        for module in ("form", "rows")
    },
    **{
        f"tasksapp/{module}.py": ("tests/integration/tasksapp/series/test_verbs.py", "the verbs show it")
        for module in (*("models/series", "series/fields", "series/lookup", "sql/occurrences"),)
    },
    "tasksapp/timers/fitness.py": (
        "tests/integration/tasksapp/workers/test_timer_queues.py",
        "the worker's start shows what it finds",
    ),
    "tasksapp/admin/api_keys/form.py": (
        "tests/integration/tasksapp/admin/api_keys/test_api_key_admin.py",
        "the pages show what the form takes and refuses",
    ),
    "tasksapp/api/keys/requests.py": (
        "tests/integration/tasksapp/api/keys/test_views.py",
        "the views show what it refuses",
    ),
    "tasksapp/access/permissions.py": (
        "tests/integration/tasksapp/access/test_access_groups.py",
        "groups have the permissions that it names, and it is asked what people may do",
    ),
    "tasksapp/access/actors.py": (
        "tests/integration/tasksapp/access/test_audit.py",
        "entries of the audit name each kind of actor",
    ),
    "tasksapp/models/alert.py": (
        "tests/integration/tasksapp/models/test_tenant.py",
        "it does no more than name its row",
    ),
    "tasksapp/models/audit_entry.py": (
        "tests/integration/tasksapp/access/test_audit.py",
        "it does no more than name its row",
    ),
    "tasksapp/models/operation.py": (
        "tests/integration/tasksapp/operations/test_verbs.py",
        "it does no more than name its row",
    ),
    "tasksapp/models/api_key.py": ("tests/unit/tasksapp/models/test_job.py", "it does no more than name its row"),
    "tasksapp/models/attempt.py": ("tests/unit/tasksapp/models/test_job.py", "it does no more than name its row"),
    "tasksapp/models/loader_report.py": (
        "tests/integration/tasksapp/maintenance/test_loader_reporter.py",
        "it does no more than name its row",
    ),
    "tasksapp/models/job_count.py": (
        "tests/integration/tasksapp/maintenance/test_counter.py",
        "they do no more than name their rows",
    ),
    "tasksapp/stats/written.py": (
        "tests/unit/tasksapp/admin/frame/test_fragments.py",
        "pages show what it writes, and find it there",
    ),
    "tasksapp/templatetags/delayhub.py": (
        "tests/integration/tasksapp/admin/overview/test_overview.py",
        "the tags hand on what other modules make, and the first page shows whether they do",
    ),
}
