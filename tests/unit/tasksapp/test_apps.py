"""The Django app: what a project gets with ``INSTALLED_APPS += ["tasksapp"]``."""

from __future__ import annotations

from django.apps import apps
from django.core.checks.registry import registry
from django.utils.module_loading import import_string

from delayhub.celery_support.job_store import job_store
from tasksapp.task_backends.delayed_task import TableStore


def test_its_label_and_its_keys_are_fixed_since_migrations_depend_on_them() -> None:
    config = apps.get_app_config("tasksapp")

    assert (config.label, config.default_auto_field) == ("tasksapp", "django.db.models.BigAutoField")


def test_its_system_checks_are_registered() -> None:
    known = {check.__name__ for check in [*registry.registered_checks, *registry.deployment_checks]}

    assert {"check_options", "check_encryption_keys", "check_deployment", "check_database", "check_celery_app"} <= known


def test_each_of_its_system_checks_is_a_function_that_exists() -> None:
    known = [*registry.registered_checks, *registry.deployment_checks]
    ours = [check for check in known if check.__module__.startswith("tasksapp.")]

    found = [import_string(f"{check.__module__}.{check.__name__}") for check in ours]

    assert len(found) >= 20
    assert all(callable(each) for each in found)


def test_delayed_tasks_are_kept_in_its_tables() -> None:
    assert isinstance(job_store(), TableStore)
