"""The flow key of a call: given with the call, or made of its arguments as the task's option ``flow_key_by`` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from delayhub.celery_support.unique import arguments_of, made_by
from delayhub.engine.task_name import FLOW_KEY_HEADER, fault_of
from delayhub.errors import OptionError


def declared_by(task: Any) -> str | Callable[..., object] | None:
    """What a task says its flow keys are made of: the name of an argument, or a function of the arguments.

    Raises:
        OptionError: it is neither.
    """
    by: Any = getattr(task, "flow_key_by", None)
    if by is not None and getattr(by, "__self__", None) is task:
        by = by.__func__  # an option is an attribute of the task's class, which binds functions
    if by is None or (isinstance(by, str) and by) or callable(by):
        found: str | Callable[..., object] | None = by
        return found
    raise OptionError(f"flow_key_by of {task.name} must be the name of an argument, or a function, got {by!r}")


def flow_key(name: str, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """The flow key of a call by the task's option; None for a call without one.

    Raises:
        OptionError: it cannot be made of the arguments.
    """
    by = declared_by(task)
    if callable(by):
        made = made_by(by, f"flow key of {name}", args, kwargs)
    else:
        named = arguments_of(f"flow key of {name}", task, args, kwargs, is_partial=True)
        if by not in named:
            raise OptionError(f"the flow key of {name} is by {by}, which the call does not have")
        made = named[by]
    return None if made is None else checked(made, name)


def checked(key: Any, name: str) -> str:
    """A flow key of a call of that task, as text. Raises OptionError for what cannot be one."""
    if isinstance(key, int | UUID) and not isinstance(key, bool):
        key = str(key)
    if fault := fault_of(key):
        raise OptionError(f"{name}: {fault}")
    found: str = key
    return found


def headers_with(
    headers: Mapping[str, Any] | None, *, key: Any, name: str, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The headers of a call with its flow key: the one given, that of the message it goes on from, or the task's.

    Args:
        headers: those of the call.
        key: the flow key that the call gives, or None.
        name: the task's name.
        task: the task; None where this process does not know it.
        args: the call's positional arguments.
        kwargs: its keyword arguments.

    Raises:
        OptionError: there is to be one, and it cannot be made.
    """
    if key is None and headers and headers.get(FLOW_KEY_HEADER) is not None:
        return dict(headers)  # a retry
    found = flow_key(name, task, args, kwargs) if key is None else checked(key, name)
    if found is None:
        return dict(headers) if headers else None
    return {**(headers or {}), FLOW_KEY_HEADER: found}
