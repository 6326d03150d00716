"""Celery's queues in the admin: what waits, runs and is dead, and what can be done to it."""
