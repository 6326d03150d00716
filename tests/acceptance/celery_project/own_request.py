"""A request class of a project's own, which fails for one message."""

from __future__ import annotations

from typing import Any

from celery.worker.request import Request


class OwnRequest(Request):
    """Raises where a header asks for that."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.request_dict.get("fails"):
            raise RuntimeError("the project's own request class fails")
