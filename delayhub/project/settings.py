"""Settings of the ready-made project, all from ``DELAYHUB_*`` environment variables.

Without any of them it runs on this machine: SQLite and a secret key in ``./var``, Redis on its
usual port. docs/reference/settings.md lists them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from kombu import Queue

from delayhub.project.environment import Environment, kept_secret
from delayhub.project.logs import logging_config
from delayhub.project.mail_server import mail_server

env = Environment()

DATA_DIR = Path(env.text("DATA_DIR", "var")).resolve()
# The path that the site is below; '' for none. The proxy takes it off, and only so it is known to commands and threads.
BELOW = site.path.rstrip("/") if (site := urlsplit(env.text("SITE_URL"))).netloc else ""

# ---------------------------------------------------------------- safety

DEBUG = env.flag("DEBUG")
SECRET_KEY = env.text("SECRET_KEY") or kept_secret(DATA_DIR / "secret_key")
SECRET_KEY_FALLBACKS = env.names("SECRET_KEY_FALLBACKS")
ALLOWED_HOSTS = env.names("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
CSRF_TRUSTED_ORIGINS = env.names("CSRF_TRUSTED_ORIGINS")

HTTPS = env.flag("HTTPS")
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [rf"^(?:{re.escape(BELOW[1:])}/)?{name}$" for name in ("livez", "readyz", "metrics")]
SECURE_HSTS_SECONDS = env.number("HSTS_SECONDS", 31_536_000) if HTTPS else 0
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
TRUST_PROXY = env.flag("TRUST_PROXY")
if TRUST_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# W005, W021: whether all other hosts of the domain speak TLS is the domain owner's to decide, not this service's.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

# Requests that may wait for their body at once; several fewer than the web server has threads. 0: no bound.
BODY_SLOTS = env.number("BODY_SLOTS", 0)
# Requests that may be under way at once beside probes; a few fewer than the web server has threads. 0: no bound.
REQUEST_SLOTS = env.number("REQUEST_SLOTS", 0)
# After so long without reading anything a client is cut off, on Linux. 0: never.
SEND_SECONDS = env.number("SEND_SECONDS", 60)

# ---------------------------------------------------------------- Django

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "django_htmx",  # htmx for parts of pages that refresh themselves
    "tasksapp",
]

# The page for errors in debug mode shows settings; not the passwords in the URLs of servers.
DEFAULT_EXCEPTION_REPORTER_FILTER = "delayhub.project.error_report.ErrorReportFilter"

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "delayhub.project.browser_middleware.protective_headers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "delayhub.project.browser_middleware.SessionMiddleware",
    "delayhub.project.browser_middleware.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "delayhub.project.browser_middleware.AuthenticationMiddleware",
    "delayhub.project.browser_middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "delayhub.project.urls"
FORCE_SCRIPT_NAME = BELOW or None
# Another site of that host has one, too.
SESSION_COOKIE_NAME = re.sub(r"[^A-Za-z0-9]", "_", f"sessionid{BELOW}")
WSGI_APPLICATION = "delayhub.project.wsgi.application"
APPEND_SLASH = True

HERE = Path(__file__).resolve().parent
# A wheel has the project's templates inside this package, a checkout has them at its top.
TEMPLATE_DIRS = [folder for folder in (HERE / "templates", HERE.parents[1] / "templates") if folder.is_dir()][:1]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": TEMPLATE_DIRS,
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

LANGUAGE_CODE = "en"
# Each by its own name, for the menu.
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LANGUAGE_COOKIE_AGE = 31_536_000
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = HTTPS
TIME_ZONE = env.text("TIME_ZONE", "UTC")
USE_I18N = True
USE_TZ = True

# ---------------------------------------------------------------- database

DATABASE_URL = env.text("DATABASE_URL") or f"sqlite:///{DATA_DIR}/delayhub.sqlite3"


def database(url: str) -> dict[str, Any]:
    """The database of that address, set up for many writers at once."""
    try:
        config: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True))
    except ValueError:  # which may quote a part of the password
        raise ImproperlyConfigured(
            "DELAYHUB_DATABASE_URL must be such as postgresql://user:password@host:5432/name or sqlite:////path/to/file;"
            " signs in a password are written as in any URL, such as %2F for a slash and %23 for #"
        ) from None
    if config["ENGINE"] == "django.db.backends.sqlite3":
        if config["NAME"] != ":memory:":
            Path(config["NAME"]).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        config["OPTIONS"] = {
            # A transaction that begins as a reader and then writes fails at once, whatever the timeout says.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            **config.get("OPTIONS", {}),
        }
    return config


DATABASES = {"default": database(DATABASE_URL)}
IS_SQLITE = DATABASES["default"]["ENGINE"].endswith("sqlite3")
if not env.text("DATABASE_URL"):
    # SQLite would make it readable for everybody on the machine; its journals get the rights of the file.
    Path(DATABASES["default"]["NAME"]).touch(mode=0o600)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# ---------------------------------------------------------------- static files

STATIC_URL = f"{BELOW}/static/"
# Static files are served straight from the packages, so collectstatic is needed only by those who set STATIC_ROOT.
WHITENOISE_USE_FINDERS = True
if env.text("STATIC_ROOT"):
    STATIC_ROOT = env.text("STATIC_ROOT")

# ---------------------------------------------------------------- logs

LOGGING = logging_config(
    format_name=env.choice("LOG_FORMAT", "console" if DEBUG else "json", among=frozenset({"json", "console"})),
    level=env.level("LOG_LEVEL", "INFO"),
    job_level=env.level("JOB_LOG_LEVEL", "NOTSET"),
)

# ---------------------------------------------------------------- Celery

BROKER_URL = env.text("BROKER_URL", "delayhub://127.0.0.1:6379/0")
LANES = env.names("LANES", "delayhub.timers")

CELERY_BROKER_URL = BROKER_URL
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Redis may be away for as long as it likes: a worker goes on without it, and must not end for that.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {"lease_seconds": env.number("BROKER_LEASE_SECONDS", 30, minimum=1)}
if BROKER_URL.startswith("delayhub-sentinel://"):
    CELERY_BROKER_TRANSPORT_OPTIONS["master_name"] = env.needed(
        "BROKER_MASTER_NAME", why="the broker is behind Sentinel"
    )
    if env.text("BROKER_SENTINEL_PASSWORD"):
        CELERY_BROKER_TRANSPORT_OPTIONS["sentinel_kwargs"] = {"password": env.text("BROKER_SENTINEL_PASSWORD")}
CELERY_TASK_DEFAULT_QUEUE = "delayhub.tasks"
CELERY_TASK_QUEUES = [
    Queue("delayhub.tasks"),
    # A timer queue carries bare ids; each claim of due ones becomes one call of the task it names.
    *(Queue(lane, queue_arguments={"x-delayhub-task": "tasksapp.deliver", "x-delayhub-batch": 100}) for lane in LANES),
]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_TIMEZONE = TIME_ZONE
# Celery closes the database connection after every task unless this is set.
CELERY_DB_REUSE_MAX = 10_000

# ---------------------------------------------------------------- mail

# Alerts are sent by it.
EMAIL = mail_server(env.text("EMAIL_URL"))
EMAIL_BACKEND = EMAIL.backend
EMAIL_HOST, EMAIL_PORT = EMAIL.host, EMAIL.port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = EMAIL.user, EMAIL.password
EMAIL_USE_TLS, EMAIL_USE_SSL = EMAIL.starttls, EMAIL.tls
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("MAIL_FROM", "delayhub@localhost")

# ---------------------------------------------------------------- REST

# How many proxies write into X-Forwarded-For: whose wrong API keys are counted, and whom throttles count.
REST_FRAMEWORK = {"NUM_PROXIES": 1 if TRUST_PROXY else 0}

# ---------------------------------------------------------------- the timeout centre

DELAYHUB: dict[str, Any] = {
    "LANES": LANES,
    "NEAR_WINDOW_SECONDS": env.number("NEAR_WINDOW_SECONDS", 3_600, minimum=10),
    "LEASE_SECONDS": env.number("LEASE_SECONDS", 60, minimum=1),
    "PRIORITY_BONUS_SECONDS": env.number("PRIORITY_BONUS_SECONDS", 60, minimum=1),
    "BREAKER_FAILURES": env.number("BREAKER_FAILURES", 20, minimum=1),
    "PURGE_ROWS_PER_MINUTE": env.number("PURGE_ROWS_PER_MINUTE", 60_000, minimum=0),
    "AUDIT_DAYS": env.number("AUDIT_DAYS", 365, minimum=0),
    "BULK_BYTES": env.number("BULK_BYTES", 8_388_608, minimum=65_536),
    "OWNER_MAIL": env.names("OWNER_MAIL"),
    "OWNER_URL": env.text("OWNER_URL") or None,
    "OWNER_SECRET": env.text("OWNER_SECRET") or None,
    "SITE_URL": env.text("SITE_URL") or None,
    "ALERT_LANGUAGE": env.text("ALERT_LANGUAGE") or None,
    "ALERT_DEATHS": env.number("ALERT_DEATHS", 1, minimum=1),
    "ALERT_OVERDUE_SECONDS": env.number("ALERT_OVERDUE_SECONDS", 60, minimum=10),
    "ALERT_CALM_SECONDS": env.number("ALERT_CALM_SECONDS", 600, minimum=10),
    "ALERT_REMINDER_HOURS": env.number("ALERT_REMINDER_HOURS", 6, minimum=1),
    "ALLOWED_NETWORKS": env.names("ALLOWED_NETWORKS"),
    "ALLOWED_TASKS": env.names("ALLOWED_TASKS"),
    "ALLOWED_QUEUES": env.names("ALLOWED_QUEUES"),
    "ENCRYPTION_KEYS": env.names("ENCRYPTION_KEYS"),
    "LONG_POLLS": env.number("LONG_POLLS", 1, minimum=0),
    "EXPORTS": env.number("EXPORTS", 2, minimum=1),
    # SQLite lets one transaction write at a time: what is busy there is rarely stuck.
    "WEB_LOCK_SECONDS": env.number("WEB_LOCK_SECONDS", 10 if IS_SQLITE else 3, minimum=0),
    "KEPT_EXCHANGES": env.choice("KEPT_EXCHANGES", "troubled", among=frozenset({"all", "troubled"})),
    "REST_CHANGES": env.choice("REST_CHANGES", "any", among=frozenset({"any", "conditional"})),
    "METRICS_TOKENS": env.names("METRICS_TOKENS"),
    "METRICS_NETWORKS": env.names("METRICS_NETWORKS"),
    "METRICS_BIZ_TYPES": env.number("METRICS_BIZ_TYPES", 200),
    "CELL": env.text("CELL") or None,
    "SCHEMA_ACCESS": env.choice("SCHEMA_ACCESS", "callers", among=frozenset({"callers", "anyone"})),
}
