"""How views find the biz type of an address: among those that the caller sees, and locked where it is changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import router, transaction
from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp.api.biz_types.representation import biz_type_json, etag_of
from tasksapp.api.http.problems import Refused
from tasksapp.biz_types.gates import is_in_force
from tasksapp.biz_types.visible import Reach, visible_biz_types
from tasksapp.models import BizType
from tasksapp.models.api_key import Scope


def find_biz_type(request: Request, code: str) -> BizType:
    """The biz type of that code, as it is stored now. Raises Http404 where the caller sees none."""
    return _one(visible_biz_types(request.user).filter(code=code).first(), code)


@contextmanager
def locked_biz_type(request: Request, code: str) -> Iterator[BizType]:
    """The same, which others cannot change before the block ends; the block is one transaction."""
    using = writing_database()
    with transaction.atomic(using=using):
        rows = visible_biz_types(request.user, using=using).select_for_update(no_key=True, of=("self",))
        found = _one(rows.filter(code=code).first(), code)
        yield found
        if found.pk is not None:
            found.refresh_from_db()  # the row counts its changes, and its ETag is of all columns


def writing_database() -> str:
    """The database that biz types are written to."""
    return router.db_for_write(BizType)


def shown_biz_type(request: Request, biz_type: BizType) -> Response:
    """The answer with a biz type that was changed and its ETag."""
    shown = biz_type_json(biz_type, shows_all=shows_all(request), in_force=is_in_force(biz_type))
    return Response(shown, headers={"ETag": shown_etag(request, biz_type)})


def shown_etag(request: Request, biz_type: BizType) -> str:
    """The ETag of a biz type as the caller sees it: without its addresses it is not the same as with them."""
    etag = etag_of(biz_type)
    return etag if shows_all(request) else f'{etag[:-1]}-part"'


def shows_all(request: Request) -> bool:
    """Whether the caller may change biz types, and so sees where their jobs go."""
    return Scope.BIZ_TYPES_WRITE in request.user.scopes  # type: ignore[union-attr]  # views have callers


def may_add(request: Request) -> None:
    """Refuses callers whose key is for certain biz types only: a new one would be none of them. Raises Refused."""
    if Reach.of(request.user).biz_type_ids is not None:
        raise Refused.of("not_for_this_key", "Your API key is for certain biz types only; it cannot add one.")


def _one(found: BizType | None, code: str) -> BizType:
    if found is None:
        raise Http404(f"There is no biz type {code!r}.")
    return found
