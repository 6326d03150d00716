"""A flow key that a person types into a form."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from tasksapp.errors import InvalidJob
from tasksapp.jobs.requests import RULES


def written_flow_key(text: str) -> str:
    """The flow key, '' for none. Raises ValidationError, in the person's language."""
    try:
        key: str = RULES["flow_key"](text)
    except InvalidJob:
        raise ValidationError(
            _("A flow key has at most 100 bytes, and no colon, brace or control character.")
        ) from None
    return key
