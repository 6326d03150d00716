"""Orders in the admin."""

from __future__ import annotations

from django.contrib import admin

from orders.models import Order


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):
    """Which orders there are, and how they stand."""

    list_display = ["id", "item", "status", "placed_at"]
    list_filter = ["status"]
