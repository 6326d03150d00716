"""``manage.py place_order ITEM [--pay]``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from orders import checkout


class Command(BaseCommand):
    """Places an order and says its number."""

    help = "Places an order; it closes by itself unless it is paid in time."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("item")
        parser.add_argument("--pay", action="store_true", help="pay it at once")

    def handle(self, *, item: str, pay: bool, **_: Any) -> None:
        order = checkout.place(item)
        if pay:
            checkout.pay(order)
        order.refresh_from_db()
        self.stdout.write(str(order))
