"""Own pages of the admin: those that are no list and no form of a model, and the ModelAdmin that has some."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, cast

from django.apps.registry import Apps
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from tasksapp.admin.frame.possible_rows import OnlyRead
from tasksapp.stats.written import clock_time

View = TypeVar("View", bound=Callable[..., Any])

#: The parameter of an address that asks for the part of a page that refreshes itself, and the header of the answer,
#: which says as of when it is. The script takes no other answer, such as the login page, for the part.
FRAGMENT = "fragment"
AS_OF = "Delayhub-As-Of"
_unseen = Apps()


class Crumb(NamedTuple):
    """A link above the page, to a page that it belongs to."""

    label: str
    url: str


def at(address: str, *, posted: bool = False) -> Callable[[View], View]:
    """Gives a view of :class:`OwnPages` its address, below that of the list of rows; of a button it takes POST only."""

    def with_address(view: View) -> View:
        made: Any = method_decorator(require_POST)(view) if posted else view
        made.address = address  # where own_urls finds it
        return cast("View", made)

    return with_address


class OwnPages(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """A ModelAdmin with pages of its own: each method ``…_view`` that has an address, in it or in one of its parts."""

    def get_urls(self) -> list[URLPattern]:
        """The admin's addresses, and before them those of its own pages, named as the methods are."""
        return [*self.own_urls(), *super().get_urls()]

    def own_urls(self) -> list[URLPattern]:
        """The addresses of its own pages."""
        found = {
            name: member.address
            for part in reversed(type(self).__mro__)
            for name, member in vars(part).items()
            if isinstance(member, FunctionType) and hasattr(member, "address")
        }
        wrap, prefix = self.admin_site.admin_view, f"{self.opts.app_label}_{self.opts.model_name}"
        return [
            path(address, wrap(getattr(self, name)), name=f"{prefix}_{name.removesuffix('_view')}")
            for name, address in found.items()
        ]

    def address(self, page: str, *rows: Any) -> str:
        """The address of a page of these rows, or of one of them, on this admin site; there may be others."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}"
        return reverse(name, args=[getattr(row, "pk", row) for row in rows], current_app=self.admin_site.name)

    def to(self, page: str, *rows: Any) -> HttpResponseRedirect:
        """Leads to that page."""
        return HttpResponseRedirect(self.address(page, *rows))

    def own_page(
        self,
        request: HttpRequest,
        template: str,
        title: str,
        context: Mapping[str, Any],
        *,
        above: Crumb | None = None,
        fragment: str = "",
    ) -> TemplateResponse:
        """A page below the list of these rows, or its fragment; the arguments are those of :func:`own_page`.

        Args:
            request: the request.
            template: the page's template.
            title: its title.
            context: what its template shows.
            above: the page of the row that it is about.
            fragment: the template of the part that refreshes itself.
        """
        crumbs = [Crumb(str(capfirst(self.opts.verbose_name_plural)), self.address("changelist"))]
        return own_page(
            request,
            site=self.admin_site,
            template=template,
            title=title,
            crumbs=[*crumbs, above] if above else crumbs,
            context={"opts": self.opts, "media": self.media, **context},
            fragment=fragment,
        )


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
        context: what its template shows, beside the time zone of its times.
        crumbs: the pages that it belongs to, below the app's own.
        fragment: the template of the part that refreshes itself, which stands in ``{% delayhub_live %}``.
    """
    request.current_app = site.name  # so that {% url %} stays on it
    context = {"zone": timezone.get_current_timezone_name(), **context}
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
        verbose_name = gettext_lazy("Celery queue")
        verbose_name_plural = gettext_lazy("Celery queues")


class System(_Page):
    """Stands for the page of the system."""

    class Meta(_Page.Meta):
        verbose_name = gettext_lazy("system")
        verbose_name_plural = gettext_lazy("System")


class PageEntry(OwnPages, OnlyRead):
    """Lists a page for people who have its permission, refuses it to others, and changes no rows.

    Its ``changelist_view`` is that page: it has the address and the name of a list.
    """

    #: What it takes to see the page.
    permission: str

    def own_urls(self) -> list[URLPattern]:
        """The addresses of the page, and of those below it."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_changelist"
        return [path("", self.admin_site.admin_view(self.changelist_view), name=name), *super().own_urls()]

    def get_urls(self) -> list[URLPattern]:
        """The same: there are no pages of single rows."""
        return self.own_urls()

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
