"""BizTypePages: what the own pages of a biz type share: who may see them, their frame and their tabs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse

from tasksapp.access.permissions import CHANGE_SECRETS, PAUSE, TEST_CALL
from tasksapp.admin.biz_types.tabs import tabs
from tasksapp.admin.frame.own_page import Crumb, OwnPages
from tasksapp.models import BizType


class BizTypePages(OwnPages):
    """A part of the biz type admin that has pages beside the form."""

    def has_pause_permission(self, request: HttpRequest, obj: BizType | None = None) -> bool:
        """Whether the person may pause and resume biz types; Django asks for the list's actions by this name."""
        return self.has_view_permission(request, obj) and request.user.has_perm(PAUSE)

    def has_test_permission(self, request: HttpRequest, obj: BizType | None = None) -> bool:
        """Whether the person may send test callbacks."""
        return self.has_view_permission(request, obj) and request.user.has_perm(TEST_CALL)

    def has_secrets_permission(self, request: HttpRequest, obj: BizType | None = None) -> bool:
        """Whether the person may change secrets."""
        return self.has_view_permission(request, obj) and request.user.has_perm(CHANGE_SECRETS)

    def found(self, biz_type_id: int, *, allowed: bool, lock: bool = False) -> BizType:
        """The biz type of a page.

        Args:
            biz_type_id: its id, from the address.
            allowed: whether the person may do what the page is for.
            lock: whether no other transaction may change it before this one ends.

        Raises PermissionDenied where they may not, Http404 where there is no such biz type.
        """
        if not allowed:
            raise PermissionDenied
        rows = BizType.objects.select_for_update(no_key=True) if lock else BizType.objects
        biz_type = rows.filter(pk=biz_type_id).first()
        if biz_type is None:
            raise Http404("There is no such biz type.")
        return biz_type

    def biz_type_page(
        self,
        request: HttpRequest,
        biz_type: BizType,
        *,
        template: str,
        title: str,
        context: Mapping[str, Any],
        tab: str = "",
        fragment: str = "",
    ) -> HttpResponse:
        """A page of one biz type, below its name and its tabs.

        Args:
            request: the request.
            biz_type: the biz type.
            template: the page's template.
            title: what the page is about.
            context: what its template shows.
            tab: the tab that it is, if it is one.
            fragment: the template of the part that refreshes itself.
        """
        above = None if tab == "now" else Crumb(biz_type.label, self.address("change", biz_type))
        own = {**self.head_of(request, biz_type, tab=tab), **context}
        return self.own_page(request, f"tasksapp/admin/{template}", title, own, above=above, fragment=fragment)

    def head_of(self, request: HttpRequest, biz_type: BizType, *, tab: str) -> dict[str, Any]:
        """What the head of each page of a biz type shows."""
        secrets = self.has_secrets_permission(request, biz_type)
        shown = tabs(biz_type, current=tab, site=self.admin_site.name, may_change_secrets=secrets)
        return {"biz_type": biz_type, "tabs": shown, "back": self.address("change", biz_type)}
