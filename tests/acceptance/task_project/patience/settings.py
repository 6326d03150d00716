"""Its settings: leases so short that a lost worker is noticed within seconds."""

import os

SECRET_KEY = "patience is a key of its own, as long as Django wants one to be"
USE_TZ = True
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "tasksapp", "patience"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["PATIENCE_DATABASE"],
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL;"},
    }
}
CELERY_BROKER_URL = os.environ["PATIENCE_BROKER"]
CELERY_BROKER_TRANSPORT_OPTIONS = {"lease_seconds": 3}
CELERY_TASK_DEFAULT_QUEUE = "patience.tasks"
CELERY_DB_REUSE_MAX = 10_000
DELAYHUB = {"LEASE_SECONDS": 1, "ALLOWED_TASKS": ["patience.plain"]}
