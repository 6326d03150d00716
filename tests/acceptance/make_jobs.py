"""Makes biz types and jobs in the database of a site, in the site's environment.

Reads two lines: ``{"biz_types": [fields, …], "jobs": [fields, …]}``, and when the jobs fall due, in Unix ms. Says
``ready`` between them, and ``made`` at the end. A job also says how many ms later the first of ``count`` falls due
(``after_ms``), and how many ms they are apart (``every_ms``).
"""

from __future__ import annotations

import json
import sys
from typing import Any

import django

from delayhub.clock import moment


def main() -> None:
    django.setup()
    from tasksapp import jobs  # after the setup
    from tasksapp.models import BizType

    asked: dict[str, Any] = json.loads(sys.stdin.readline())
    for fields in asked["biz_types"]:
        BizType.objects.create(**fields)
    print("ready", flush=True)
    start_ms = int(sys.stdin.readline())
    requests = []
    for given in asked["jobs"]:
        first, count, every = start_ms + given.pop("after_ms"), given.pop("count"), given.pop("every_ms")
        requests += [jobs.JobRequest(**given, due_at=moment(first + every * number)) for number in range(count)]
    rejected = [made for made in jobs.create_many(requests) if isinstance(made, jobs.Rejected)]
    if rejected:
        raise rejected[0].error
    print("made", flush=True)


if __name__ == "__main__":
    main()
