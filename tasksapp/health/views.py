"""What load balancers ask: is the process alive, and can it serve?"""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse

from tasksapp.health.readiness import readiness


def livez(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers; touches nothing else."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, else 503.

    Redis and delivery are reported but do not take the process out of service: jobs are created without them, and
    delivered when they are back. All are asked once a second at most. Addresses and error texts are in the log only.
    """
    found = readiness.found()
    return JsonResponse(found._asdict(), status=200 if found.database == "ok" else 503)
