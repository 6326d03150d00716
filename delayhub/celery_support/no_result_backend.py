"""What stands where a result backend is wanted at a delayhub:// address: a sentence with the address to write."""

from __future__ import annotations

import re
from typing import Any

from celery.app.backends import BACKEND_ALIASES
from celery.exceptions import ImproperlyConfigured

from delayhub.celery_support.kombu_workers import KOMBUS
from delayhub.schemes import SCHEMES

#: What begins the address of a cluster, on which Celery's Redis backend does not run.
CLUSTER = "delayhub-cluster"


class NoResultBackend:
    """Brokers of ours keep no results.

    Raises:
        ImproperlyConfigured: always.
    """

    def __init__(self, app: Any, url: str | None = None, **options: Any) -> None:
        del app, options
        if str(url).startswith(CLUSTER):
            raise ImproperlyConfigured(
                "delayhub-cluster:// is a broker and keeps no results, and Celery's Redis backend does not run on a"
                " Redis Cluster: set result_backend to another Redis (redis://host:6379/0), or to a database"
            )
        given = re.sub(r"(://[^/@;]*:)[^@;]*@", r"\1**@", str(url or "delayhub://host:6379/0"))
        for scheme, celerys in KOMBUS.items():
            given = given.replace(f"{scheme}://", f"{celerys}://")
        raise ImproperlyConfigured(
            "delayhub:// is a broker and keeps no results. Celery's Redis backend can keep them in the same server:"
            f" set result_backend to {given!r}, or to another database of it"
        )


def register() -> None:
    """Makes Celery find this class where the address of a broker of ours is given for results."""
    for scheme in SCHEMES:
        BACKEND_ALIASES[scheme] = f"{__name__}:{NoResultBackend.__name__}"
