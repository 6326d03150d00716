"""Authorization: the columns of a biz type that say how its callbacks show who sends them, beside their signature."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from delayhub.secrecy import Secrecy
from tasksapp.models.columns import marked, optional_text
from tasksapp.models.encrypted_text import SealedText


class Authorization(models.Model):
    """How receivers know who calls them."""

    class Auth(models.TextChoices):
        NONE = "none", _("none")
        BASIC = "basic", _("Basic (user:password)")
        BEARER = "bearer", _("Bearer (token)")
        OAUTH2 = "oauth2", _("OAuth2 (client credentials)")
        OAUTH2_FORM = "oauth2_form", _("OAuth2 (client credentials, in the form)")

    auth = models.CharField(_("auth"), max_length=12, choices=Auth, default=Auth.NONE)
    auth_secret_sealed = marked(Secrecy.SECRET, models.TextField(_("auth secret"), blank=True, editable=False))
    auth_secret = SealedText("auth_secret_sealed")
    token_url = marked(
        Secrecy.PARAMETERS,
        optional_text(_("token address"), longest=2000, help_text=_("Where OAuth2 access tokens are asked for.")),
    )
    client_id = optional_text(_("client id"), longest=500, help_text=_("Who asks for them."))
    token_fields = marked(
        Secrecy.SECRET,
        models.JSONField(
            _("token fields"),
            default=dict,
            db_default={},
            blank=True,
            help_text=_('What else is asked, a JSON object of texts: {"scope": "orders"}.'),
        ),
    )
    client_certificate_sealed = marked(
        Secrecy.SECRET,
        models.TextField(_("client certificate"), blank=True, default="", db_default="", editable=False),
    )
    #: Its private key and it, with those that vouch for it, in PEM.
    client_certificate = SealedText("client_certificate_sealed")
    certificate_subject = optional_text(_("certificate's subject"), longest=500, editable=False)
    certificate_ends_at = models.DateTimeField(_("certificate ends at"), null=True, blank=True, editable=False)
    ca_bundle = models.TextField(
        _("CA bundle"),
        blank=True,
        default="",
        db_default="",
        help_text=_("Certificates in PEM of those who vouch for the receiver, in place of those the system trusts."),
    )

    class Meta:
        abstract = True

    @property
    def asks_for_token(self) -> bool:
        """Whether its callbacks carry access tokens, which a token server gives."""
        return self.auth in (self.Auth.OAUTH2, self.Auth.OAUTH2_FORM)
