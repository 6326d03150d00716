"""How long what is replaced stays valid beside the new: keys, signing secrets."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

#: For a field of a form: seconds, and what people read.
OVERLAPS = [
    (0, _("no time: it ends at once")),
    (3_600, _("1 hour")),
    (86_400, _("1 day")),
    (604_800, _("7 days")),
    (2_592_000, _("30 days")),
]
