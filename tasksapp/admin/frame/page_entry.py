"""PageEntry: a page of ours in the list of an admin site's models, although it shows no table.

An admin site lists models only. So each of these pages has a model without a table, in a registry of its own: no
migration, no content type and no query ever sees it.
"""

from __future__ import annotations

from django.apps.registry import Apps
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from tasksapp.admin.frame.possible_rows import OnlyRead

_unseen = Apps()


class _Page(models.Model):
    """Stands for a page, or several."""

    class Meta:
        abstract = True
        apps = _unseen
        app_label = "tasksapp"
        managed = False
        default_permissions = ()

    def __str__(self) -> str:
        return str(self._meta.verbose_name)


class CeleryQueue(_Page):
    """Stands for the pages of Celery's queues."""

    class Meta(_Page.Meta):
        verbose_name = _("Celery queue")
        verbose_name_plural = _("Celery queues")


class System(_Page):
    """Stands for the page of the system."""

    class Meta(_Page.Meta):
        verbose_name = _("system")
        verbose_name_plural = _("System")


class PageEntry(OnlyRead):
    """Lists a page for people who have its permission, refuses it to others, and changes no rows."""

    #: What it takes to see the page.
    permission: str

    def may_view(self, request: HttpRequest) -> bool:
        """Whether the person may see the page."""
        return request.user.is_active and request.user.has_perm(self.permission)

    def require_view(self, request: HttpRequest) -> None:
        """Raises PermissionDenied where the person may not see the page."""
        if not self.may_view(request):
            raise PermissionDenied

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the app is listed at all."""
        return self.may_view(request)

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Whether the page is listed."""
        return self.may_view(request)
