"""The secrets of a biz type in the admin: they can be made, set and ended, and are never shown again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.access.actors import Actor
from tasksapp.admin.biz_types.pages import BizTypePages
from tasksapp.admin.biz_types.tabs import TOKEN
from tasksapp.admin.biz_types.texts import HELP, LABELS
from tasksapp.admin.frame.fields import JsonField, overlap_field
from tasksapp.admin.frame.own_page import at
from tasksapp.admin.frame.requests import actor_of
from tasksapp.biz_types import verbs
from tasksapp.biz_types.certificate import LONGEST_PEM, BadPem, set_certificate
from tasksapp.biz_types.token_request import origin_of, token_complaints
from tasksapp.biz_types.validation import auth_complaint, secret_complaint
from tasksapp.models import BizType

#: The button that was pressed, and where the biz type led when the form was opened.
DEED, OPENED_FOR = "deed", "opened_for"

#: Buttons that end something: the verb, which says whether there was something to end, and what is said then.
ENDINGS: dict[str, tuple[Callable[..., bool], verbs.Signing, Promise]] = {
    "end_previous": (verbs.end_previous, verbs.Signing.SECRET, gettext_lazy("The old secret has ended.")),
    "unsign": (verbs.stop_signing, verbs.Signing.SECRET, gettext_lazy("Callbacks are not signed any more.")),
    "end_previous_key": (verbs.end_previous, verbs.Signing.KEY_PAIR, gettext_lazy("The old key has ended.")),
    "stop_keys": (
        verbs.stop_signing, verbs.Signing.KEY_PAIR, gettext_lazy("Callbacks are not signed by a key any more."),
    ),
}  # fmt: skip

_PASSWORD = {"autocomplete": "new-password"}


class ReplacingForm(forms.Form):
    """A form for what may take the place of something; the first of its kind asks for no overlap."""

    def __init__(self, *args: Any, is_first: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("overlap", "key_overlap") if is_first else ():
            self.fields.pop(name, None)


class OverlapForm(ReplacingForm):
    """How long the present secret goes on signing beside a new one, and the new one where the person brings it."""

    overlap = overlap_field(
        gettext_lazy("The present secret goes on signing for"),
        gettext_lazy("Callbacks then have both signatures, so that the receiver can change over."),
    )
    secret = forms.CharField(
        label=gettext_lazy("A secret of your own"),
        required=False,
        widget=forms.PasswordInput(attrs=_PASSWORD),
        help_text=gettext_lazy("whsec_ and base64 of 24 to 64 bytes. Empty: one is made and shown once."),
    )

    def clean_secret(self) -> str:
        """The secret; callbacks must be able to be signed with it."""
        secret: str = self.cleaned_data["secret"].strip()
        if secret and (complaint := secret_complaint(secret)):
            raise forms.ValidationError(complaint)
        return secret


class KeyPairForm(ReplacingForm):
    """How long the present key pair goes on signing beside a new one."""

    key_overlap = overlap_field(
        gettext_lazy("The present key goes on signing for"),
        gettext_lazy("Until then its public key is served beside the new one."),
    )


class CredentialsForm(forms.Form):
    """How callbacks are authorized, and with what."""

    auth = forms.ChoiceField(
        label=gettext_lazy("Authorization"),
        choices=[choice for choice in BizType.Auth.choices if choice[0] != BizType.Auth.NONE],
    )
    token_url = forms.CharField(label=LABELS["token_url"], required=False, max_length=2000, help_text=HELP["token_url"])
    client_id = forms.CharField(label=LABELS["client_id"], required=False, max_length=500, help_text=HELP["client_id"])
    token_fields = JsonField(
        label=LABELS["token_fields"],
        required=False,
        widget=forms.Textarea(attrs={"rows": 1, "spellcheck": "false", "class": "delayhub-code"}),
        help_text=HELP["token_fields"],
    )
    auth_secret = forms.CharField(
        label=gettext_lazy("Credentials"),
        widget=forms.PasswordInput(attrs=_PASSWORD),
        help_text=gettext_lazy(
            "user:password for Basic, the token for Bearer: each callback carries them. The client's secret for OAuth2:"
            " the token server gets it, and callbacks carry what that gives."
        ),
    )

    def clean(self) -> dict[str, Any]:
        """The fields; the credentials must fit their kind."""
        cleaned: dict[str, Any] = super().clean() or {}
        if self.errors:
            return cleaned
        cleaned["token_fields"] = cleaned["token_fields"] or {}
        if complaint := auth_complaint(cleaned["auth"], cleaned["auth_secret"]):
            self.add_error("auth_secret", complaint)
        asked = {name: cleaned[name] for name in ("auth", *TOKEN)}
        for name, complaint in token_complaints(BizType(**asked)).items():
            self.add_error(name, complaint)
        return cleaned


class CertificateForm(forms.Form):
    """The certificate that receivers are shown, and its key."""

    certificate = forms.CharField(
        label=gettext_lazy("Certificate"),
        max_length=LONGEST_PEM,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "class": "delayhub-code"}),
        help_text=gettext_lazy("In PEM, with those that vouch for it below."),
    )
    private_key = forms.CharField(
        label=gettext_lazy("Private key"),
        max_length=LONGEST_PEM,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "class": "delayhub-code", **_PASSWORD}),
        help_text=gettext_lazy("In PEM, without a password. It is stored encrypted, and no page shows it."),
    )


class Secrets(BizTypePages):
    """The part of the biz type admin that changes secrets."""

    def sign_if_new(self, request: HttpRequest, biz_type: BizType) -> None:
        """Makes a signing secret for a biz type that was just added without one, if it has callbacks to sign."""
        if biz_type.is_unsigned:
            secret = verbs.make_signing_secret(biz_type, by=actor_of(request))
            biz_type.fresh_secret = secret  # type: ignore[attr-defined]  # for the answer to this request

    def response_add(self, request: HttpRequest, obj: BizType, post_url_continue: str | None = None) -> HttpResponse:
        """The page with the secret that was made, if one was; it leads to where the button that was pressed leads."""
        answer = super().response_add(request, obj, post_url_continue)
        secret: str | None = getattr(obj, "fresh_secret", None)
        if secret is None:
            return answer
        onward = answer.url if isinstance(answer, HttpResponseRedirect) else self.address("change", obj)
        return self._shown_once(request, obj, secret=secret, onward=onward)

    @at("<int:biz_type_id>/secrets/")
    def secrets_view(self, request: HttpRequest, biz_type_id: int) -> HttpResponse:
        """Which secrets there are; changes them.

        Raises PermissionDenied without the permission to change secrets, Http404 where there is no such biz type.
        """
        allowed = self.has_secrets_permission(request)
        if request.method != "POST":
            return self._secrets_page(request, self.found(biz_type_id, allowed=allowed))
        with transaction.atomic():
            return self._changed(request, self.found(biz_type_id, allowed=allowed, lock=True))

    def _changed(self, request: HttpRequest, biz_type: BizType) -> HttpResponse:  # noqa: PLR0911  a table of buttons
        """The answer to a button that was pressed; the page with its form, where that is wrong."""
        by, deed = actor_of(request), request.POST.get(DEED, "")
        if deed in ENDINGS:
            end, signing, said = ENDINGS[deed]
            return self._said(request, biz_type, str(said) if end(biz_type, signing, by=by) else "")
        match deed:
            case "authorize" | "certify" if _leads_elsewhere(biz_type, since=request.POST.get(OPENED_FOR)):
                text = _(
                    "The address was changed while the page was open: it is %(address)s now. Nothing is stored yet."
                )
                self.message_user(request, text % {"address": biz_type.url}, messages.ERROR)
                return self.to("secrets", biz_type)
            case "sign":
                secret = OverlapForm(request.POST, is_first=not biz_type.signing_secret_sealed)
                if secret.is_valid():
                    return self._sign(request, biz_type, secret)
                return self._secrets_page(request, biz_type, signing=secret)
            case "sign_by_key":
                key_pair = KeyPairForm(request.POST, is_first=not biz_type.signing_key_sealed)
                if key_pair.is_valid():
                    overlap = timedelta(seconds=key_pair.cleaned_data.get("key_overlap", 0))
                    verbs.make_key_pair(biz_type, overlap=overlap, by=by)
                    return self._said(request, biz_type, _("Callbacks are signed by the new key, too."))
                return self._secrets_page(request, biz_type, key_pair=key_pair)
            case "authorize":
                credentials = CredentialsForm(request.POST)
                if credentials.is_valid():
                    _authorize(biz_type, credentials.cleaned_data, by=by)
                    return self._said(request, biz_type, _("Callbacks carry the new credentials."))
                return self._secrets_page(request, biz_type, credentials=credentials)
            case "certify":
                return self._certify(request, biz_type)
            case "uncertify":
                set_certificate(biz_type, certificate="", private_key="", by=by)
                return self._said(request, biz_type, _("Receivers are shown no certificate any more."))
            case "unauthorize":
                _authorize(biz_type, {"auth": BizType.Auth.NONE, "auth_secret": ""}, by=by)
                return self._said(request, biz_type, _("Callbacks carry no credentials any more."))
        return self._secrets_page(request, biz_type)

    def _certify(self, request: HttpRequest, biz_type: BizType) -> HttpResponse:
        form = CertificateForm(request.POST)
        if form.is_valid():
            try:
                set_certificate(biz_type, **form.cleaned_data, by=actor_of(request))
            except BadPem as error:
                form.add_error(error.name, error.message)
            else:
                return self._said(request, biz_type, _("Receivers are shown the new certificate."))
        form.data = {**request.POST.dict(), "private_key": ""}  # a page never repeats a secret
        return self._secrets_page(request, biz_type, certificate=form)

    def _sign(self, request: HttpRequest, biz_type: BizType, form: OverlapForm) -> HttpResponse:
        overlap = timedelta(seconds=form.cleaned_data.get("overlap", 0))
        secret: str = form.cleaned_data["secret"]
        if secret:
            verbs.rotate_signing_secret(biz_type, secret, overlap=overlap, by=actor_of(request))
            return self._said(request, biz_type, _("Callbacks are signed with the new secret."))
        secret = verbs.make_signing_secret(biz_type, overlap=overlap, by=actor_of(request))
        return self._shown_once(request, biz_type, secret=secret, onward=self.address("secrets", biz_type))

    def _said(self, request: HttpRequest, biz_type: BizType, message: str) -> HttpResponse:
        if message:
            self.message_user(request, message, messages.SUCCESS)
        else:
            self.message_user(request, _("There was none; nothing has changed."), messages.WARNING)
        return self.to("secrets", biz_type)

    def _secrets_page(self, request: HttpRequest, biz_type: BizType, **shown: forms.Form) -> HttpResponse:
        is_signed = bool(biz_type.signing_secret_sealed)
        context = {
            "is_http": biz_type.target == BizType.Target.HTTP,
            "is_signed": is_signed,
            "signing": shown.get("signing") or OverlapForm(is_first=not is_signed),
            "has_key": bool(biz_type.signing_key_sealed),
            "key_pair": shown.get("key_pair") or KeyPairForm(is_first=not biz_type.signing_key_sealed),
            "public_keys": verbs.public_keys(biz_type, now=timezone.now()),
            "public_keys_address": self._public_keys_address(request, biz_type),
            "old_key_signs_until": _until(biz_type.previous_key_until, is_there=bool(biz_type.previous_public_key)),
            "credentials": shown.get("credentials")
            or CredentialsForm(initial={name: getattr(biz_type, name) for name in ("auth", *TOKEN)}),
            "certificate": shown.get("certificate") or CertificateForm(),
            "is_authorized": biz_type.auth != BizType.Auth.NONE,
            "old_signs_until": _signs_until(biz_type),
        }
        title = _("Secrets of %(biz_type)s") % {"biz_type": biz_type.label}
        return self.biz_type_page(
            request,
            biz_type,
            template="biz_type_secrets.html",
            title=title,
            context=context,
            tab="secrets",
        )

    def _public_keys_address(self, request: HttpRequest, biz_type: BizType) -> str:
        """Where a receiver finds the public keys; '' in a project that has no addresses of the API."""
        try:
            address = reverse("delayhub:public-keys", args=[biz_type.pk])
        except NoReverseMatch:
            return ""
        return request.build_absolute_uri(address)

    def _shown_once(self, request: HttpRequest, biz_type: BizType, *, secret: str, onward: str) -> HttpResponse:
        return self.biz_type_page(
            request,
            biz_type,
            template="signing_secret.html",
            title=_("Signing secret of %(biz_type)s") % {"biz_type": biz_type.label},
            context={"secret": secret, "onward": onward, "old_signs_until": _signs_until(biz_type)},
        )


def _authorize(biz_type: BizType, given: Mapping[str, Any], *, by: Actor) -> None:
    for name, value in given.items():
        setattr(biz_type, name, value)
    verbs.edit(biz_type, given.keys(), by=by)


def _leads_elsewhere(biz_type: BizType, *, since: str | None) -> bool:
    """Whether it leads to another host than when the form was opened; a program that posts it may leave that out."""
    return since is not None and origin_of(since) != origin_of(biz_type.url)


def _signs_until(biz_type: BizType) -> str:
    """Until when the old secret signs beside the present one; '' where it does not."""
    return _until(biz_type.previous_secret_until, is_there=bool(biz_type.previous_signing_secret_sealed))


def _until(ends: datetime | None, *, is_there: bool) -> str:
    if not is_there or ends is None or ends <= timezone.now():
        return ""
    return f"{timezone.localtime(ends):%Y-%m-%d %H:%M %Z}"
