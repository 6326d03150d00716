"""The tabs of a biz type: each has an address of its own, so that they work without a script and can be linked to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.models import BizType

#: The parameter of the form's address that names the tab, and the tab that has all fields of the form.
TAB, ALL = "tab", "all"

Fieldsets = Sequence[tuple[str | Promise | None, dict[str, Any]]]

_TARGET: list[Any] = [
    *("target", "url", "url_hosts", "method", "headers", "ca_bundle", "timeout_seconds", "task_name", "task_queue"),
]
#: What an access token is asked for with, beside the client's secret.
TOKEN = ("token_url", "client_id", "token_fields")
_RETRIES: list[Any] = [
    "max_attempts", "max_age", "backoff", "backoff_min_seconds", "backoff_max_seconds", "backoff_factor",
    "backoff_max_doublings", "backoff_list", "jitter", "permanent_status_codes",
]  # fmt: skip
_LIMITS: Fieldsets = [
    (gettext_lazy("Deliveries"), {"fields": ["delivery_rate", "delivery_burst", "max_in_flight"]}),
    (gettext_lazy("Deliveries of one flow key"), {"fields": ["key_rate", "key_burst", "key_max_in_flight"]}),
    (gettext_lazy("New jobs"), {"fields": ["insert_rate", "insert_burst"]}),
    (gettext_lazy("Order"), {"fields": ["ordered", "weight", "priority"]}),
]
_OWNER: list[Any] = ["owner_mail", "owner_url"]
_GENERAL: Fieldsets = [
    (None, {"fields": ["tenant", "code", "name", "description", "enabled"]}),
    (gettext_lazy("Guarantees"), {"fields": ["guarantee", "max_lateness", "when_late"]}),
    (gettext_lazy("Jobs of one biz id"), {"fields": ["one_live", "debounce_max_wait"]}),
    (gettext_lazy("Follow-ups"), {"fields": ["on_success", "on_dead", "on_resolved"]}),
    (gettext_lazy("Where and for how long"), {"fields": ["lane", "retention", "encrypted"]}),
    (gettext_lazy("What is shown"), {"fields": ["masked_fields"]}),
    (gettext_lazy("Owner"), {"fields": _OWNER}),
    (None, {"fields": ["created_at", "updated_at"]}),
]

#: By the tab, the fields of its form.
FORMS: Mapping[str, Fieldsets] = {
    "general": _GENERAL,
    "target": [(None, {"fields": _TARGET})],
    "retries": [(None, {"fields": _RETRIES})],
    "limits": _LIMITS,
}
#: What the tabs of a biz type leave out whose jobs are pulled; on the tab with its target, the style sheet hides more.
NOT_PULLED = frozenset({"permanent_status_codes", "weight", "lane"})
#: Of the form for all that is there.
WHOLE: Fieldsets = [
    *_GENERAL[:-1],
    (gettext_lazy("Target"), {"fields": _TARGET}),
    (gettext_lazy("Retries"), {"fields": _RETRIES}),
    *_LIMITS,
    _GENERAL[-1],
]
#: Of the form for a new one: what each needs first, and the rest folded.
NEW: Fieldsets = [
    (None, {"fields": ["tenant", "code", "target", "url", "task_name"]}),
    (gettext_lazy("Name"), {"fields": ["name", "description"], "classes": ["collapse"]}),
    (
        gettext_lazy("More about the target"),
        {
            "fields": [
                *("url_hosts", "method", "headers", "auth", *TOKEN, "auth_secret"),
                *("ca_bundle", "timeout_seconds", "task_queue"),
            ],
            "classes": ["collapse"],
        },
    ),
    (gettext_lazy("Retries"), {"fields": _RETRIES, "classes": ["collapse"]}),
    (
        gettext_lazy("Limits"),
        {
            "fields": [
                *("delivery_rate", "delivery_burst", "max_in_flight", "insert_rate", "insert_burst"),
                *("key_rate", "key_burst", "key_max_in_flight", "ordered", "weight", "priority"),
            ],
            "classes": ["collapse"],
        },
    ),
    (
        gettext_lazy("Guarantees, lane and how long jobs are kept"),
        {
            "fields": [
                *("guarantee", "max_lateness", "when_late", "one_live", "debounce_max_wait"),
                *("on_success", "on_dead", "on_resolved"),
                *("retention", "encrypted", "lane", "masked_fields", "enabled"),
            ],
            "classes": ["collapse"],
        },
    ),
    (gettext_lazy("Owner"), {"fields": _OWNER, "classes": ["collapse"]}),
]


class Tab(NamedTuple):
    """A tab as the page shows it."""

    label: str
    url: str
    is_current: bool


def tab_of(request: HttpRequest) -> str:
    """The tab that the address of the form asks for; '' for the biz type's first page."""
    asked = request.GET.get(TAB, "")
    return asked if asked in FORMS or asked == ALL else ""


def fieldsets_of(request: HttpRequest) -> Fieldsets:
    """The fields of the tab; all of them where the address names none, as a program's does that posts the form."""
    return FORMS.get(tab_of(request), WHOLE)


def tabs(biz_type: BizType, *, current: str, site: str, may_change_secrets: bool) -> list[Tab]:
    """The tabs of a biz type on the admin site of that name.

    Args:
        biz_type: the biz type.
        current: ``now``, ``secrets`` or the name of a form's tab.
        site: the name of the admin site.
        may_change_secrets: whether the person sees the page of the secrets.
    """
    change = reverse("admin:tasksapp_biztype_change", args=[biz_type.pk], current_app=site)
    labels = {
        "general": _("General"),
        "target": _("Target"),
        "retries": _("Retries"),
        "limits": _("Limits"),
    }
    shown = [Tab(_("Now"), change, current == "now")]
    keys = reverse("admin:tasksapp_biztype_keys", args=[biz_type.pk], current_app=site)
    shown.append(Tab(_("Flow keys"), keys, current == "keys"))
    shown += [Tab(label, f"{change}?{TAB}={name}", current == name) for name, label in labels.items()]
    if may_change_secrets:
        url = reverse("admin:tasksapp_biztype_secrets", args=[biz_type.pk], current_app=site)
        shown.append(Tab(_("Secrets"), url, current == "secrets"))
    return shown
