"""What load balancers ask: is the process alive, and can it serve?"""

from __future__ import annotations

from collections.abc import Callable

from django.db import connections, transaction
from django.http import HttpRequest, JsonResponse

from tasksapp.health.readiness import readiness

Probe = Callable[[HttpRequest], JsonResponse]


def without_transaction(probe: Probe) -> Probe:
    """The probe, outside of ``ATOMIC_REQUESTS``, which would ask the database before the probe does."""
    for alias in connections:
        probe = transaction.non_atomic_requests(using=alias)(probe)
    return probe


@without_transaction
def livez(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers; touches nothing else."""
    return JsonResponse({"status": "ok"})


@without_transaction
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, else 503; within a second, whatever hangs.

    It is 503 too where this process can open no more files and sockets: it is about to end.

    Also where the table of jobs is locked: other servers have the same database, and this one says at least why a
    request failed and when to come again.

    Redis and delivery are reported but do not take the process out of service: jobs are created without them, and
    delivered when they are back. All are asked once a second at most. Addresses and error texts are in the log only.
    """
    found = readiness.found()
    is_ready = found.database != "away" and found.descriptors == "ok"
    return JsonResponse(found._asdict(), status=200 if is_ready else 503)
