"""Prepares a site's database: ``python -m delayhub.demo.prepare``, in the environment of the site.

It can run again: what people changed in the admin stays, apart from the addresses of the sample biz types, whose
receiver may now listen on another port.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import django
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.models import Q
from django.utils.module_loading import import_string

from delayhub.demo.receiver import SECRET_VARIABLE
from delayhub.demo.samples import SAMPLE_BACKOFF_SECONDS, SAMPLES, SampleBizType

APP = "tasksapp"


def main() -> None:
    """Migrates the database, and puts the admin, the API key and the sample biz types into it.

    Raises:
        SystemExit: no command of Django's runs with these settings, or the database must be seen to first; it says why.
    """
    django.setup()
    try:
        refuse_later_release()
        call_command("migrate", interactive=False, verbosity=0, skip_checks=False)
    except CommandError as error:
        sys.exit(str(error))
    with transaction.atomic():
        keep_admin(os.environ["DELAYHUB_SITE_ADMIN"], password=os.environ["DELAYHUB_SITE_PASSWORD"])
        keep_api_key("standalone", key=os.environ["DELAYHUB_SITE_API_KEY"])
        for sample in SAMPLES:
            keep_biz_type(sample, receiver=os.environ["DELAYHUB_SITE_RECEIVER"], secret=os.environ[SECRET_VARIABLE])


def refuse_later_release() -> None:
    """Raise CommandError if a later release has migrated the database: this one would break on its tables."""
    loader = MigrationLoader(connection)
    last = max(name for app, name in loader.disk_migrations or () if app == APP)
    later = sorted(name for app, name in loader.applied_migrations or () if app == APP and name[:4] > last[:4])
    if later:
        raise CommandError(
            f"a later release of DelayHub has migrated the database ({', '.join(later)}): start that release, or name"
            " another data folder"
        )


def keep_admin(name: str, *, password: str) -> None:
    """Creates the admin, unless there is a user of that name."""
    users: Any = get_user_model()
    if not users.objects.filter(username=name).exists():
        users.objects.create_superuser(name, password=password)


def keep_api_key(name: str, *, key: str) -> None:
    """Creates the API key, which may do everything, unless there is one of that name, or one that was renamed."""
    keys: Any = apps.get_model("tasksapp", "ApiKey")
    prefix = import_string("tasksapp.access.keys.prefix_of")(key)
    if not keys.objects.filter(Q(name=name) | Q(prefix=prefix)).exists():
        scopes = import_string("tasksapp.models.api_key.Scope").values
        import_string("tasksapp.access.keys.issue_key")(name, key=key, scopes=scopes)


def keep_biz_type(sample: SampleBizType, *, receiver: str, secret: str) -> None:
    """Creates the biz type, unless there is one of that code; sets its address to the receiver's in any case."""
    biz_type, is_new = apps.get_model("tasksapp", "BizType").objects.get_or_create(
        code=sample.code,
        defaults={
            "name": sample.name,
            "max_attempts": sample.max_attempts,
            "backoff": "fixed",
            "backoff_min_seconds": SAMPLE_BACKOFF_SECONDS,
            "jitter": 0,
        },
    )
    if is_new:
        biz_type.signing_secret = secret
    biz_type.url = receiver + sample.path
    biz_type.save()


if __name__ == "__main__":
    main()
