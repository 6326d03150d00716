"""What runs in a Celery worker: claims, deliveries, task runs, leases."""
