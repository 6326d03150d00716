"""What happens to an order later."""

from __future__ import annotations

from delayhub import delayed_task
from orders.models import Order


@delayed_task(biz_type="order.close", max_attempts=5)
def close_unpaid_order(order_id: int) -> None:
    """Closes the order if it is still unpaid; running twice does no harm."""
    Order.objects.filter(id=order_id, status=Order.Status.UNPAID).update(status=Order.Status.CLOSED)
