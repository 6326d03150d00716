"""Placing and paying orders."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction

from orders.models import Order
from orders.tasks import close_unpaid_order


def place(item: str) -> Order:
    """A new unpaid order, which closes by itself unless it is paid in time.

    Order and job are written in one transaction: both are there, or neither.
    """
    with transaction.atomic():
        order = Order.objects.create(item=item)
        close_unpaid_order.schedule(
            args=[order.pk],
            delay=timedelta(seconds=settings.ORDER_TIMEOUT_SECONDS),
            biz_id=f"order-{order.pk}",
        )
    return order


def pay(order: Order) -> bool:
    """Whether the payment came in time. The job may stay: when it fires, it finds the order paid."""
    return Order.objects.filter(pk=order.pk, status=Order.Status.UNPAID).update(status=Order.Status.PAID) == 1
