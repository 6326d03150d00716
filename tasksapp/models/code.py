"""What codes are made of, by which callers name biz types and tenants."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

#: What a code is made of.
CODE = RegexValidator(
    r"\A[a-z0-9][a-z0-9._-]{0,99}\Z", _("Use a-z, 0-9, '.', '_' and '-'; begin with a letter or digit.")
)
