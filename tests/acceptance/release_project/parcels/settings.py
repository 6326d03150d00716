"""Its settings, the same in both releases."""

import os

SECRET_KEY = "parcels have a key of their own, as long as Django wants one to be"
USE_TZ = True
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "tasksapp", "parcels"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["PARCELS_DATABASE"],
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL;"},
    }
}
CELERY_BROKER_URL = os.environ["PARCELS_BROKER"]
CELERY_TASK_DEFAULT_QUEUE = "parcels.tasks"
CELERY_DB_REUSE_MAX = 10_000
