"""What the transport asks and reports to the program that runs its messages; Celery's side fills it in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import WeakValueDictionary


@dataclass(slots=True, eq=False, weakref_slot=True)
class Hooks:
    """Questions and reports of the transport. Without a program that fills them in, the defaults do nothing.

    A process may run several programs (Celery apps), each with hooks of its own: connections carry their name in a
    transport option, so that pools do not mix them either.

    Args:
        running_tags: gives the delivery tags of messages that are being worked on; they outlive their connection.
        on_revoked: gets the id of a message that is about to be delivered although it was revoked.
        free_processes: gives how many messages the program could start at once; None where it does not know.
        on_consume: gets the engine's queue that a channel begins to consume.
        on_dead: gets the kombu message that is about to be dead since no process survives it, and the reason.
    """

    running_tags: Callable[[], frozenset[str]] = frozenset
    on_revoked: Callable[[str], None] = lambda _: None
    free_processes: Callable[[], int | None] = lambda: None
    on_consume: Callable[[Any], None] = lambda _: None
    on_dead: Callable[[Any, str], None] = lambda *_: None


#: The transport option with the name of the hooks; a text, since Celery's ``inspect stats`` sends all options as JSON.
HOOKS_OPTION = "delayhub_app"

#: The hooks of connections that name none.
hooks = Hooks()

_named: WeakValueDictionary[str, Hooks] = WeakValueDictionary()
_numbers = count(1)


def name_hooks(program: str, own: Hooks) -> str:
    """The name under which connections find these hooks, as long as the program keeps them."""
    name = f"{program}-{next(_numbers)}"
    _named[name] = own
    return name


def hooks_of(options: Mapping[str, Any]) -> Hooks:
    """The hooks that a connection's transport options name."""
    return _named.get(options.get(HOOKS_OPTION, ""), hooks)
