"""Delivery: signed HTTP requests to receivers, many at once, and what became of each. Knows no ORM and no Celery."""
