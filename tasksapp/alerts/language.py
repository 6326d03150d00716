"""The language of messages: they have no reader whose browser names one."""

from __future__ import annotations

from contextlib import AbstractContextManager

from django.conf import settings
from django.utils import translation

from tasksapp.conf import options


def in_messages_language() -> AbstractContextManager[None]:
    """While it is open, texts are in the language of messages."""
    return translation.override(options().alert_language or settings.LANGUAGE_CODE)
