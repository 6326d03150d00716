"""Signing secrets in the admin: made by the server, shown once on the page that answers, and then never again."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from tasksapp.biz_types import verbs
from tasksapp.models import BizType


class SigningSecrets(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """The part of the biz type admin that makes signing secrets."""

    def get_urls(self) -> list[URLPattern]:
        """The admin's addresses, and that of the page that makes a secret."""
        own = path(
            "<int:biz_type_id>/signing_secret/",
            self.admin_site.admin_view(self.signing_secret_view),
            name="tasksapp_biztype_signing_secret",
        )
        return [own, *super().get_urls()]

    def sign_if_new(self, biz_type: BizType) -> None:
        """Makes a signing secret for a biz type that was just added without one, if it has callbacks to sign."""
        if biz_type.is_unsigned:
            biz_type.fresh_secret = verbs.make_signing_secret(biz_type)  # type: ignore[attr-defined]  # for the answer

    def response_add(self, request: HttpRequest, obj: BizType, post_url_continue: str | None = None) -> HttpResponse:
        """The page with the secret that was made, if one was; it leads to where the button that was pressed leads."""
        answer = super().response_add(request, obj, post_url_continue)
        secret: str | None = getattr(obj, "fresh_secret", None)
        if secret is None:
            return answer
        onward = answer.url if isinstance(answer, HttpResponseRedirect) else self._address(obj)
        return self._page(request, obj, secret=secret, onward=onward)

    def signing_secret_view(self, request: HttpRequest, biz_type_id: int) -> HttpResponse:
        """Asks whether to make a signing secret; makes it, and shows it.

        Raises Http404 where there is no such biz type, or without the permission to change it.
        """
        biz_type = BizType.objects.filter(pk=biz_type_id).first()
        if biz_type is None or not self.has_change_permission(request, biz_type):
            raise Http404("There is no such biz type, or you may not change it.")
        secret = None
        if request.method == "POST":
            secret = verbs.make_signing_secret(biz_type)
            self.log_change(request, biz_type, "Made a signing secret.")
        return self._page(request, biz_type, secret=secret, onward=self._address(biz_type))

    def _page(self, request: HttpRequest, biz_type: BizType, *, secret: str | None, onward: str) -> HttpResponse:
        request.current_app = self.admin_site.name
        ends = biz_type.previous_secret_until
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": f"Signing secret of {biz_type}",
            "biz_type": biz_type,
            "rotating_until": ends if ends is not None and ends > timezone.now() else None,
            "secret": secret,
            "onward": onward,
            "back": self._address(biz_type),
            "opts": self.opts,
            "media": self.media,
        }
        return TemplateResponse(request, "tasksapp/admin/signing_secret.html", context)

    def _address(self, biz_type: BizType) -> str:
        return reverse("admin:tasksapp_biztype_change", args=[biz_type.pk], current_app=self.admin_site.name)
