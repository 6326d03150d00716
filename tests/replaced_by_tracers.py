"""What tracing libraries replace in Celery, kombu and billiard: an override of ours that skips it makes them blind."""

from __future__ import annotations

#: As of sentry-sdk 2.75, ddtrace 4.16 and newrelic 14.1. OpenTelemetry and elastic-apm listen to signals.
REPLACED = (
    "celery.beat:Scheduler.apply_entry",  # sentry, ddtrace
    "celery.beat:Scheduler.tick",  # ddtrace
    "celery.app.task:Task.apply_async",  # sentry, ddtrace
    "celery.app.base:Celery.send_task",  # sentry
    "celery.app.trace:build_tracer",  # sentry, newrelic
    "celery.loaders.base:BaseLoader.init_worker",  # newrelic
    "billiard.pool:Worker.workloop",  # sentry
    "kombu.messaging:Producer.publish",  # sentry, newrelic
    "kombu.messaging:Producer._publish",  # ddtrace
    "kombu.messaging:Consumer.receive",  # ddtrace
    "kombu.messaging:Consumer._receive_callback",  # newrelic
)
