"""DelayHub inside a Celery app: installation, control without workers, tasks that are jobs."""
