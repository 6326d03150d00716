"""Copying a biz type: the form for a new one, filled in with another one's values but for its code and its secrets."""

from __future__ import annotations

from typing import Any

from django.forms.models import model_to_dict
from django.http import HttpRequest

from tasksapp.models import BizType

#: The parameter of the address that names the biz type to copy.
COPY_OF = "copy_of"
#: What a copy does not take over: callers know the original by its code, and a pause is about the original only.
NOT_COPIED = ("code", "paused_until")

#: Digits of a 64-bit primary key; databases refuse longer numbers.
LONGEST_KEY = 19


def copied(request: HttpRequest) -> BizType | None:
    """The biz type that the form for a new one is a copy of; None where it is no copy."""
    asked = request.GET.get(COPY_OF, "")
    is_key = asked.isascii() and asked.isdecimal() and len(asked) < LONGEST_KEY
    return BizType.objects.filter(pk=int(asked)).first() if is_key else None


def values_of(biz_type: BizType) -> dict[str, Any]:
    """What the form begins with; secrets are no fields of the row, so they are not among it."""
    return model_to_dict(biz_type, exclude=NOT_COPIED)
