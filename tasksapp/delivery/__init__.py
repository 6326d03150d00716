"""Delivery: sends signed HTTP requests to receivers, many at once, and says what became of each. No ORM, no Celery."""
