"""The page that replaces an API key by a new one, while the one before stays valid for a while."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.access.key_verbs import end_previous, rotate
from tasksapp.admin.frame.fields import overlap_field
from tasksapp.admin.frame.fragments import local_time
from tasksapp.admin.frame.masking import ShownOnce
from tasksapp.admin.frame.own_page import Crumb, OwnPages, at
from tasksapp.admin.frame.requests import actor_of
from tasksapp.models import ApiKey

#: The button that was pressed.
DEED = "deed"


class OverlapForm(forms.Form):
    """How long the present key stays valid beside the new one."""

    overlap = overlap_field(
        gettext_lazy("The present key stays valid for"),
        gettext_lazy("So that the calling system can change over. Choose no time where the key has leaked."),
    )


class Rotation(OwnPages):
    """The part of the API key admin that replaces keys."""

    @at("<int:key_id>/rotate/")
    def rotate_view(self, request: HttpRequest, key_id: int) -> HttpResponse:
        """Asks for the overlap; replaces the key and shows the new one, or ends the one that was replaced.

        Raises PermissionDenied without the permission to change keys, Http404 where there is no such key.
        """
        if request.method != "POST":
            return self._asking(request, self._found(request, key_id), OverlapForm())
        with transaction.atomic():
            row = self._found(request, key_id, lock=True)
            if request.POST.get(DEED) == "end_previous":
                ended = end_previous(row, by=actor_of(request))
                self._say(request, _("The replaced key has ended.") if ended else "")
                return self.to("change", row)
            form = OverlapForm(request.POST)
            if not form.is_valid():
                return self._asking(request, row, form)
            overlap = timedelta(seconds=form.cleaned_data["overlap"])
            key = ShownOnce(rotate(row, overlap=overlap, by=actor_of(request)))
        return self.new_key_page(request, row, key)

    def new_key_page(self, request: HttpRequest, row: ApiKey, key: str) -> TemplateResponse:
        """The page that shows a new key, in answer to the form itself, so that the key is shown once."""
        context = {"row": row, "key": key, "onward": self.address("change", row), "old_until": old_until(row)}
        title = _("New key of %(name)s") % {"name": row.name}
        # It is rendered after the transaction has ended, so only a key that works is shown.
        page = self._page(request, row, "new_api_key.html", title, context)
        add_never_cache_headers(page)
        return page

    def _asking(self, request: HttpRequest, row: ApiKey, form: OverlapForm) -> HttpResponse:
        context = {"row": row, "form": form, "back": self.address("change", row), "old_until": old_until(row)}
        title = _("Replace the key of %(name)s") % {"name": row.name}
        return self._page(request, row, "api_key_rotate.html", title, context)

    def _page(self, request: HttpRequest, row: ApiKey, template: str, title: str, context: Any) -> TemplateResponse:
        above = Crumb(row.name, self.address("change", row))
        return self.own_page(request, f"tasksapp/admin/{template}", title, context, above=above)

    def _found(self, request: HttpRequest, key_id: int, *, lock: bool = False) -> ApiKey:
        rows = ApiKey.objects.select_for_update(no_key=True) if lock else ApiKey.objects
        row = rows.filter(pk=key_id).first()
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        if row is None:
            raise Http404("There is no such key.")
        return row

    def _say(self, request: HttpRequest, message: str) -> None:
        if message:
            self.message_user(request, message, messages.SUCCESS)
        else:
            self.message_user(request, _("There was none; nothing has changed."), messages.WARNING)


def old_until(row: ApiKey) -> str:
    """Until when the replaced key is valid beside the present one; '' where there is none."""
    ends = row.previous_until
    return local_time(ends) if row.previous_prefix and ends is not None and ends > timezone.now() else ""
