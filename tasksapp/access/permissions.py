"""Which permission of Django each deed of a person in the admin takes."""

from __future__ import annotations

from typing import Protocol

from tasksapp.models.api_key import Scope

#: By what it allows. The groups that a migration makes have sets of them.
VIEW_BODY = "tasksapp.view_job_body"
EXPORT = "tasksapp.export_job"
PAUSE = "tasksapp.pause_biztype"
TEST_CALL = "tasksapp.test_biztype"
CHANGE_SECRETS = "tasksapp.change_biztype_secrets"
PAUSE_SERIES = "tasksapp.pause_series"
VIEW_SYSTEM = "tasksapp.view_system"
VIEW_QUEUES = "tasksapp.view_celery_queue"
CHANGE_QUEUES = "tasksapp.change_celery_queue"

#: By the name of a verb of jobs, in lower case. To edit a waiting job takes what to move it takes, and to backfill a
#: series what to trigger it takes.
VERBS = {
    "run_now": "tasksapp.run_now_job",
    "reschedule": "tasksapp.reschedule_job",
    "edit": "tasksapp.reschedule_job",
    "redrive": "tasksapp.redrive_job",
    "cancel": "tasksapp.cancel_job",
    "drop": "tasksapp.drop_job",
    "backfill": PAUSE_SERIES,
}

#: What a user of Django needs to use the API as a key with that scope does. The API shows whole bodies, and the audit
#: shows small ones.
SCOPES = {
    Scope.JOBS_READ: ("tasksapp.view_job", "tasksapp.view_attempt", "tasksapp.view_operation", VIEW_BODY),
    Scope.JOBS_WRITE: ("tasksapp.add_job", VERBS["reschedule"], VERBS["cancel"]),
    Scope.JOBS_ACT: tuple(permission for permission in VERBS.values() if permission != PAUSE_SERIES),
    # Who may answer may let others answer.
    Scope.JOBS_LINK: (VERBS["cancel"],),
    Scope.JOBS_EXPORT: ("tasksapp.view_job", EXPORT, VIEW_BODY),
    Scope.JOBS_BODY: (VIEW_BODY,),
    # A puller sees bodies, and ends jobs for good.
    Scope.JOBS_PULL: (VERBS["run_now"], VERBS["drop"], VIEW_BODY),
    Scope.BIZ_TYPES_READ: ("tasksapp.view_biztype",),
    Scope.BIZ_TYPES_WRITE: (
        "tasksapp.add_biztype", "tasksapp.change_biztype", "tasksapp.delete_biztype", PAUSE, TEST_CALL, CHANGE_SECRETS,
    ),
    Scope.KEYS: (
        "tasksapp.view_apikey", "tasksapp.add_apikey", "tasksapp.change_apikey", "tasksapp.delete_apikey",
    ),
    Scope.STATS: ("tasksapp.view_job", "tasksapp.view_biztype", "tasksapp.view_auditentry", VIEW_BODY),
}  # fmt: skip


class HasPermissions(Protocol):
    """A user of Django's, or what behaves like one."""

    def has_perm(self, perm: str, /) -> bool:
        """Whether the user has the permission."""


def may(user: HasPermissions, verb: str) -> bool:
    """Whether the user may apply the verb of that name to jobs."""
    return user.has_perm(VERBS[verb])
