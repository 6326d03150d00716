"""What codes are made of, by which callers name biz types and tenants."""

from __future__ import annotations

import re

from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

_PATTERN = r"\A[a-z0-9][a-z0-9._-]{0,99}\Z"
_CODE = re.compile(_PATTERN)
#: What a code is made of.
CODE = RegexValidator(_PATTERN, _("Use a-z, 0-9, '.', '_' and '-'; begin with a letter or digit."))


def is_code(text: str) -> bool:
    """Whether a biz type or a tenant may have that code."""
    return _CODE.fullmatch(text) is not None
