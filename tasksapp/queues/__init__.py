"""Celery's queues and the workers behind them, as people look at them."""
