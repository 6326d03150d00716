"""Tasks of Django's tasks framework, at the level of a module as it wants them."""

from __future__ import annotations

import sys
from typing import Any

from tests.integration.tasksapp.task_backends.framework import task


class OutOfStock(Exception):
    """What a task may fail of."""


@task
def total(first: int, *, more: Any = 0) -> Any:
    return {"total": first + more, "parts": (first, more)}


@task
def fails() -> None:
    raise OutOfStock("no lamps")


@task
def gives_back(*, card: str) -> dict[str, str]:
    return {"card": card}


@task
def fails_of(*, card: str) -> None:
    raise OutOfStock(f"no {card}")


@task
async def later(number: int) -> int:
    return number * 2


@task(takes_context=True)
def told(context: Any) -> list[Any]:
    return [context.attempt, context.task_result.status]


@task
def gives_no_json() -> Any:
    return object()


@task
def leaves() -> None:
    sys.exit(1)
