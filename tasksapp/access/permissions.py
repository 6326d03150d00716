"""Which permission of Django each deed of a person in the admin takes."""

from __future__ import annotations

from typing import Protocol

#: By what it allows. The groups that a migration makes have sets of them.
VIEW_BODY = "tasksapp.view_job_body"
PAUSE = "tasksapp.pause_biztype"
TEST_CALL = "tasksapp.test_biztype"
CHANGE_SECRETS = "tasksapp.change_biztype_secrets"
VIEW_SYSTEM = "tasksapp.view_system"
VIEW_QUEUES = "tasksapp.view_celery_queue"
CHANGE_QUEUES = "tasksapp.change_celery_queue"

#: By the name of a verb of jobs, in lower case. To edit a waiting job takes what to move it takes.
VERBS = {
    "run_now": "tasksapp.run_now_job",
    "reschedule": "tasksapp.reschedule_job",
    "edit": "tasksapp.reschedule_job",
    "redrive": "tasksapp.redrive_job",
    "cancel": "tasksapp.cancel_job",
    "drop": "tasksapp.drop_job",
}


class HasPermissions(Protocol):
    """A user of Django's, or what behaves like one."""

    def has_perm(self, perm: str, /) -> bool:
        """Whether the user has the permission."""


def may(user: HasPermissions, verb: str) -> bool:
    """Whether the user may apply the verb of that name to jobs."""
    return user.has_perm(VERBS[verb])
