"""Own pages of the admin: those that are no list and no form of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.admin.frame.fragments import clock_time

#: The parameter of an address that asks for the part of a page that refreshes itself, and the header of the answer,
#: which says as of when it is. The script takes no other answer, such as the login page, for the part.
FRAGMENT = "fragment"
AS_OF = "Delayhub-As-Of"


class Crumb(NamedTuple):
    """A link above the page, to a page that it belongs to."""

    label: str
    url: str


def own_page(
    request: HttpRequest,
    *,
    site: AdminSite,
    template: str,
    title: str,
    context: Mapping[str, Any],
    crumbs: Sequence[Crumb] = (),
    fragment: str = "",
) -> TemplateResponse:
    """A page of ours on that admin site, or its fragment where the address asks for it.

    Args:
        request: the request; links of the page stay on the site.
        site: the admin site that shows it.
        template: the page's template, which extends ``tasksapp/admin/page.html``.
        title: its title.
        context: what its template shows.
        crumbs: the pages that it belongs to, below the app's own.
        fragment: the template of the part that refreshes itself, which stands in ``{% delayhub_live %}``.
    """
    request.current_app = site.name  # so that {% url %} stays on it
    if fragment and FRAGMENT in request.GET:
        return fragment_page(request, template=fragment, context=context)
    page = {**site.each_context(request), "title": title, "crumbs": crumbs, **context}
    return TemplateResponse(request, template, page)


def fragment_page(request: HttpRequest, *, template: str, context: Mapping[str, Any]) -> TemplateResponse:
    """The part of a page that refreshes itself, as the script wants it."""
    headers = {AS_OF: clock_time(timezone.now()), "Cache-Control": "no-store"}
    return TemplateResponse(request, template, dict(context), headers=headers)


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
