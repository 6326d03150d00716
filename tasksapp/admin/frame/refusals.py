"""Refusals: a page that says in a sentence why something cannot be done."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from tasksapp.admin.frame.own_page import own_page


def refused_page(
    request: HttpRequest, sentence: str, *, site: AdminSite, status: int, back: str = ""
) -> TemplateResponse:
    """The page with that sentence.

    Args:
        request: the request.
        sentence: why it cannot be done, and what helps.
        site: the admin site that shows it.
        status: of the answer: 403 where a permission is missing, 400 where the request cannot be read.
        back: where its link leads; the list of jobs if empty.
    """
    context = {"sentence": sentence, "back": back or reverse("admin:tasksapp_job_changelist", current_app=site.name)}
    title = _("Not permitted") if status == 403 else _("This cannot be done")
    page = own_page(request, site=site, template="tasksapp/admin/refused.html", title=title, context=context)
    page.status_code = status
    return page


def no_permission(verb_label: str) -> str:
    """The sentence for a person who may not apply a verb."""
    return _("Your account may not do this: “%(verb)s” needs a permission that it does not have.") % {
        "verb": verb_label
    }
