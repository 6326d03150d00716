"""Which scope each action of the API takes, and the refusal of callers that do not have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import PermissionDenied

from tasksapp.api.http.problems import Problem, Refused
from tasksapp.models.api_key import Scope

#: Of a view that every caller may use.
ANY_SCOPE = None

#: By the name of an action.
Scopes = Mapping[str, Scope | None]


def check_scope(caller: Any, action: str | None, *, scopes: Scopes) -> None:
    """Refuses a caller that does not have the scope of an action.

    Raises Refused (403), which names the scope, and PermissionDenied where the view set says nothing about the action.

    Args:
        caller: the user of the request; see :class:`tasksapp.access.callers.Caller`.
        action: the view set's action; None for a method that it does not have, which is answered with 405.
        scopes: those of the view set.
    """
    if action is None:
        return
    if action not in scopes:
        raise PermissionDenied("No scope allows this.")
    scope = scopes[action]
    if scope is not ANY_SCOPE and scope not in caller.scopes:
        raise Refused(scope_missing(scope))


def scope_missing(scope: Scope) -> Problem:
    """The problem document for callers without that scope."""
    detail = f"This takes the scope {scope.value}, which your API key or your account does not have."
    return Problem("scope_missing", detail, extra={"scope": scope.value})
