"""What older versions of Celery and kombu lack, for tests that need it: `make matrix` runs them on those too."""

from __future__ import annotations

import celery
import kombu
import pytest

CELERY = tuple(int(part) for part in celery.__version__.split(".")[:2])
KOMBU = tuple(int(part) for part in kombu.__version__.split(".")[:2])

needs_batches = pytest.mark.skipif(KOMBU < (5, 7), reason="cannot run here: kombu 5.7 brought Producer.batch")
needs_disable_prefetch = pytest.mark.skipif(
    CELERY < (5, 6), reason="cannot run here: Celery 5.6 brought worker_disable_prefetch"
)
needs_countdowns_in_seconds = pytest.mark.skipif(
    CELERY < (5, 7), reason="cannot run here: Celery before 5.7 adds a countdown to the time on the wall"
)
needs_threads_that_stop = pytest.mark.skipif(
    CELERY < (5, 7),
    reason="cannot run here: the threads pool of Celery before 5.7 runs all that it has before it stops",
)
needs_retry_on_worker_lost = pytest.mark.skipif(
    CELERY < (5, 7), reason="cannot run here: Celery 5.7 brought task_retry_on_worker_lost"
)
needs_newest = pytest.mark.skipif(
    CELERY < (5, 7) or KOMBU < (5, 7),
    reason="cannot run here: docs/celery/options.md lists the options of Celery 5.7 and kombu 5.7",
)
