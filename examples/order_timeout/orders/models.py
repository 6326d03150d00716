"""Order: what a customer wants to buy."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """An order, which is paid or closed in the end."""

    class Status(models.TextChoices):
        UNPAID = "unpaid", "unpaid"
        PAID = "paid", "paid"
        CLOSED = "closed", "closed for want of payment"

    item = models.CharField(max_length=200)
    status = models.CharField(max_length=10, choices=Status, default=Status.UNPAID)
    placed_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"order {self.pk}: {self.item} ({self.status})"
