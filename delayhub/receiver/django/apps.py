"""The app's name and label."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ReceiverConfig(AppConfig):
    """The inbox of callbacks."""

    name = "delayhub.receiver.django"
    label = "delayhub_receiver"
    verbose_name = _("Received callbacks")
    default_auto_field = "django.db.models.BigAutoField"
