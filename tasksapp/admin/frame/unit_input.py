"""UnitInput: an input for a number, with the unit that the number has."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString


class UnitInput(forms.NumberInput):
    """A number and its unit beside it: ``[500] jobs per second``.

    Args:
        unit: the unit, translated.
        step: by how much the arrows of the input move it; ``any`` takes every fraction.
    """

    def __init__(self, *, unit: str | Promise, step: str = "any") -> None:
        super().__init__(attrs={"step": step, "class": "vIntegerField"})
        self.unit = unit

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        """The input with its unit."""
        made = super().render(name, value, attrs, renderer)
        return format_html('<span class="delayhub-unit">{} <span>{}</span></span>', made, self.unit)
