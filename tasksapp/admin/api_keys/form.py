"""The form of an API key: whose it is, and what it may do. The key itself is made when the form is saved."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.access.key_verbs import complaints
from tasksapp.access.quotas import Quota
from tasksapp.admin.frame.fields import take_place, time_field
from tasksapp.models import ApiKey, BizType
from tasksapp.models.api_key import Scope
from tasksapp.models.tenant import DEFAULT_TENANT

#: The name of each part of the form, and that of its column.
COLUMNS = {
    "name": "name",
    "owner": "owner",
    "scopes": "scopes",
    "biz_types": "biz_type_ids",
    "expires_at": "expires_at",
}
#: The class of boxes to tick, in a column of their own width.
TICKS = "delayhub-ticks"


class ApiKeyForm(forms.ModelForm):  # type: ignore[type-arg]  # it takes no argument at run time
    """A key's columns, with scopes to tick and biz types to choose."""

    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("May"),
        choices=lambda: [(scope.value, f"{scope.value} · {scope.label}") for scope in Scope],
        widget=forms.CheckboxSelectMultiple(attrs={"class": TICKS}),
        help_text=gettext_lazy("A call that takes another scope is refused with 403, which names the scope."),
    )
    biz_types = forms.ModelMultipleChoiceField(
        label=gettext_lazy("Only these biz types"),
        queryset=BizType.objects.none(),
        required=False,
        widget=FilteredSelectMultiple(gettext_lazy("biz types"), is_stacked=False),
        help_text=gettext_lazy("None chosen: all biz types, also those that are added later."),
    )
    expires_at = time_field(
        gettext_lazy("Expires at"), gettext_lazy("From then on the key is refused. Empty: it does not expire.")
    )
    #: The version of the row when the form was opened.
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = ApiKey
        fields = "__all__"
        labels = {"enabled": gettext_lazy("Enabled")}
        help_texts = {
            "name": gettext_lazy("The calling system. The record of what was done names it."),
            "enabled": gettext_lazy("A key that is not enabled is refused from the next request on."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        row: ApiKey = self.instance
        if "biz_types" in self.fields:
            choices = BizType.objects.select_related("tenant").order_by("code")
            if "tenant" not in self.fields:
                choices = choices.filter(tenant_id=row.tenant_id or DEFAULT_TENANT)
            chosen: Any = self.fields["biz_types"]
            chosen.queryset = choices
            # Without those that were deleted, which cannot be chosen.
            there = list(choices.filter(pk__in=row.biz_type_ids).values_list("pk", flat=True))
            self.initial.setdefault("biz_types", there)
        if "seen" in self.fields:
            self.initial["seen"] = row.version

    def clean(self) -> dict[str, Any]:
        """The fields; the key must be one that there can be, and must not have changed since the form was opened."""
        cleaned: dict[str, Any] = super().clean() or {}
        row: ApiKey = self.instance
        seen = cleaned.get("seen")
        if row.pk is not None and seen is not None and seen != row.version:
            data: Any = self.data.copy()  # type: ignore[attr-defined]  # it is a QueryDict, or a dict in tests
            data["seen"] = row.version
            self.data = data
            self.add_error(
                None,
                _("Somebody changed this key while the form was open. Nothing is stored yet: to store it as it stands "
                  "here, save again."),
            )  # fmt: skip
        if "biz_types" in cleaned:
            row.biz_type_ids = self._ids(cleaned["biz_types"])
        for name in ("name", "owner", "scopes", "expires_at", "tenant"):
            if name in cleaned:
                setattr(row, name, cleaned[name])
        if row._state.adding:  # before its name is looked for: another one of that name may come at the same moment
            take_place(self, Quota.API_KEYS, model=ApiKey, tenant_id=row.tenant_id)
        # What was not changed may have become wrong since: biz types were deleted, the key has expired.
        filled_in = set(cleaned) if row._state.adding else set(cleaned).intersection(self.changed_data)
        shown = {column: name for name, column in COLUMNS.items() if name in filled_in}
        for column, complaint in complaints(row, among=shown).items():
            self.add_error(shown[column], complaint)
        return cleaned

    def changed_columns(self) -> set[str]:
        """The columns that the person changed."""
        return {COLUMNS.get(name, name) for name in self.changed_data} - {"seen"}

    def _ids(self, chosen: Any) -> list[int]:
        """The chosen ids. A key whose biz types were all deleted sees nothing, and not all, until some are chosen."""
        if "biz_types" not in self.changed_data:
            return list(self.instance.biz_type_ids)
        return sorted(biz_type.pk for biz_type in chosen)
