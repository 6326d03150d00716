"""SiteRights: permissions that belong to no row, such as to see the state of the whole system."""

from __future__ import annotations

from django.db import models


class SiteRights(models.Model):
    """No table: it carries the permissions."""

    class Meta:
        managed = False
        default_permissions = ()
        permissions = [
            ("view_system", "Can see workers, servers and settings"),
            ("view_celery_queue", "Can see Celery's queues and their messages"),
            ("change_celery_queue", "Can move, revoke and redrive Celery's messages"),
        ]
