"""What a worker has loaded when it is ready stays for good, so the garbage collector leaves it out."""

from __future__ import annotations

import gc
from typing import Any

from celery import bootsteps


class FreezeModules(bootsteps.StartStopStep):
    """Spares a worker the full collections that stop all of its threads for a tenth of a second and longer.

    Each walks over all objects that may hold others, 58 000 of Celery's and ours and more than that of a Django
    project's, and comes again and again while there are tasks. What is frozen still goes when nothing refers to it.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._was_ready = False
        # Before a prefork pool starts: its children have this in common, and a collection would copy each page of it.
        gc.freeze()

    def start(self, parent: Any) -> None:
        """Called at the start and at every reconnect, when much may be on its way that is to be collected later."""
        if not self._was_ready:
            gc.collect()
            gc.freeze()
        self._was_ready = True
