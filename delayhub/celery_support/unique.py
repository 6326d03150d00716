"""``Unique``: of all calls of a task that have the same key, only one is queued, or runs, at a time."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from kombu.utils.json import dumps

from delayhub.engine.unique import MAX_KEY_BYTES
from delayhub.errors import OptionError

#: A longer text of arguments is replaced by its hash.
MAX_TEXT = 160
#: The longest time for which a key is taken: ten years.
MAX_SECONDS = 10 * 366 * 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """How a task is unique: ``@app.task(unique=Unique(…))``, or ``apply_async(…, unique=…)`` for one call.

    Without ``key`` and ``by``, the key is the task's name with all its arguments, defaults included, so that
    ``f(7)`` and ``f(order=7)`` are the same.

    Args:
        by: the names of the arguments that make the key, beside the task's name.
        key: the key itself, a text; or a function of the call's arguments that gives it. Tasks may share a key.
        until: ``end``: from the publish until the task has ended, dead or removed; ``start``: until a worker takes it;
            or a number of seconds from the publish, whatever becomes of the task.
        when_taken: what becomes of a call whose key is taken: ``refuse`` (the result of the first call is returned),
            ``raise`` (UniqueTaken), or ``replace``: it takes the place of the one that waits, with its own time; where
            that one runs, it waits for its end.
        in_canvas: what becomes of a call in a group, chord or chain, for which others wait: it is always stored, and
            ``wait`` s for its key; or ``error`` (UniqueInCanvas), where a program starts such a canvas.

    Raises:
        OptionError: a value cannot work.
    """

    by: Sequence[str] | None = None
    key: str | Callable[..., str] | None = None
    until: Literal["end", "start"] | float = "end"
    when_taken: Literal["refuse", "raise", "replace"] = "refuse"
    in_canvas: Literal["wait", "error"] = "wait"

    def __post_init__(self) -> None:
        if self.by is not None and self.key is not None:
            raise OptionError("a unique task takes either by or key")
        if self.by is not None and not is_list_of_names(self.by):
            raise OptionError(f"by must be a list of names of arguments, got {self.by!r}")
        if self.key is not None and not isinstance(self.key, str) and not callable(self.key):
            raise OptionError(f"key must be a text, or a function that gives one, got {self.key!r}")
        is_time = isinstance(self.until, int | float) and not isinstance(self.until, bool)
        if self.until not in ("end", "start") and not (is_time and 0 < self.until <= MAX_SECONDS):  # type: ignore[operator]  # is_time
            raise OptionError(
                f"until must be 'end', 'start' or a number of seconds up to {MAX_SECONDS}, got {self.until!r}"
            )
        if self.when_taken not in ("refuse", "raise", "replace"):
            raise OptionError(f"when_taken must be 'refuse', 'raise' or 'replace', got {self.when_taken!r}")
        if self.in_canvas not in ("wait", "error"):
            raise OptionError(f"in_canvas must be 'wait' or 'error', got {self.in_canvas!r}")
        if is_time and self.when_taken == "replace":
            raise OptionError("a key that is taken for a time cannot replace: the first call may have run")

    @classmethod
    def of(cls, value: Any, *, declared: Self | None = None) -> Self | None:
        """The value of an option ``unique``: None where it says that the task is not unique.

        Args:
            value: True, a text (the key), a mapping (as JSON has it), an object of this class; or False.
            declared: what the task says, of which a text only changes the key.

        Raises:
            OptionError: it is none of these, or cannot work.
        """
        match value:
            case None | False:
                return None
            case True:
                return declared or cls()
            case str():
                return replace(declared or cls(), key=value, by=None)
            case cls():
                return value
            case Mapping():
                try:
                    return cls(**value)
                except TypeError as error:
                    raise OptionError(f"unique has no such option: {error}") from error
        raise OptionError(f"unique must be True, a text, a mapping or a Unique, got {value!r}")

    def key_of(self, name: str, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """The key of one call of a task.

        Args:
            name: the task's name.
            task: the task; None where this process does not know it.
            args: the call's positional arguments.
            kwargs: its keyword arguments.

        Raises:
            OptionError: it cannot be told from the arguments.
        """
        if isinstance(self.key, str):
            return self.key
        if self.key is not None:
            made: Any = made_by(self.key, f"unique key of {name}", args, kwargs)
            if not isinstance(made, str) or not made:
                raise OptionError(f"the function for the unique key of {name} must give a text, got {made!r}")
            return made
        named = arguments_of(f"unique key of {name}", task, args, kwargs, is_partial=self.by is not None)
        if self.by is not None:
            if unknown := [one for one in self.by if one not in named]:
                raise OptionError(f"the unique key of {name} is by {', '.join(unknown)}, which the call does not have")
            named = {one: named[one] for one in self.by}
        return text_of(name, named)

    def __json__(self) -> dict[str, Any]:
        """As JSON has it, in the message of a canvas' first task."""
        if callable(self.key):
            raise OptionError("a function that makes a unique key cannot travel: declare it at the task")
        return {field: getattr(self, field) for field in self.__slots__}


def is_list_of_names(by: Any) -> bool:
    """Whether ``by`` can be used; a set cannot, since each process would write its names in another order."""
    return isinstance(by, list | tuple) and bool(by) and all(isinstance(one, str) for one in by)


def made_by(function: Callable[..., object], key: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a function of the project's makes of a call's arguments.

    Args:
        function: the function.
        key: what it is to make, and for which task, such as "unique key of shop.close".
        args: the call's positional arguments.
        kwargs: its keyword arguments.

    Raises:
        OptionError: the function raised an error, which is the cause.
    """
    try:
        return function(*args, **kwargs)
    except Exception as error:
        raise OptionError(f"the function for the {key} raised {error!r}") from error


def arguments_of(
    key: str, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, is_partial: bool
) -> dict[str, Any]:
    """The arguments of a call by their names, with the task's defaults.

    Args:
        key: what they are for, and for which task, such as "unique key of shop.close".
        task: the task; None where this process does not know it.
        args: the call's positional arguments.
        kwargs: its keyword arguments.
        is_partial: whether some of them are enough.

    Raises:
        OptionError: this process does not know the task, and names are needed that the call does not give.
    """
    if task is not None:
        try:
            bound = inspect.signature(task.run).bind(*args, **kwargs)
        except (TypeError, ValueError) as error:
            raise OptionError(f"the {key} cannot be made: {error}") from error
        bound.apply_defaults()
        found = dict(bound.arguments)
        # A task with **options has the argument that is asked for among these, maybe.
        more = next((one.name for one in bound.signature.parameters.values() if one.kind is one.VAR_KEYWORD), None)
        return {**found[more], **found} if is_partial and more else found
    if args or not is_partial:
        raise OptionError(
            f"the {key} cannot be made: this program does not know the task, nor the names of its arguments; give the"
            " key itself (a text), or by, and keyword arguments only"
        )
    return dict(kwargs)


def text_of(name: str, arguments: Mapping[str, Any]) -> str:
    """A key that people can read, where it is short enough.

    Raises:
        OptionError: an argument has no JSON.
    """
    try:
        shown = ", ".join(
            f"{one}={dumps(value, sort_keys=True, separators=(',', ':'))}" for one, value in arguments.items()
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise OptionError(f"the unique key of {name} needs arguments that JSON has: {error}") from error
    if "\0" in shown or len(shown) > MAX_TEXT or len(name.encode()) + len(shown.encode()) + 2 > MAX_KEY_BYTES:
        shown = f"sha256:{hashlib.sha256(shown.encode()).hexdigest()}"
    return f"{name}({shown})"
