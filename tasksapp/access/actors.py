"""Actor: who does something, for the record."""

from __future__ import annotations

from typing import NamedTuple

from tasksapp.models.job import FOLLOW_UP

#: How many characters of a name are kept.
NAME_LENGTH = 150


class Actor(NamedTuple):
    """A person, a key, an operation or a receiver.

    Args:
        name: ``ada`` for a person, ``api:checkout`` for a key, ``op 17`` for an operation, ``receiver`` for what a
            receiver asked for in its answer; '' for the project's own code.
        address: where the request came from, if there was one.
    """

    name: str = ""
    address: str | None = None

    @classmethod
    def of_key(cls, name: str, *, address: str | None = None) -> Actor:
        """The holder of the API key of that name."""
        return cls(f"api:{name}"[:NAME_LENGTH], address)

    @classmethod
    def of_operation(cls, operation_id: int) -> Actor:
        """The operation of that number."""
        return cls(f"op {operation_id}")


#: What a receiver asks for in its answer.
RECEIVER = Actor("receiver")
#: What became of another job, which this one follows.
FOLLOWING = Actor(FOLLOW_UP)
#: A command on the server, which says nothing about who runs it.
CONSOLE = Actor("manage.py")
#: The project's own code, which says nothing about who it acts for.
OWN_CODE = Actor()
