"""Celery queues."""
