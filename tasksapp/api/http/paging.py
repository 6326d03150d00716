"""Pages by id: each begins where the one before it ended, so that all cost the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import UUID

from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from tasksapp.api.http.problems import refused
from tasksapp.models.columns import is_code


class NewestFirst(BasePagination):
    """Pages by descending id, which is newest first with UUIDv7. ``next`` is the address of the next page, or null."""

    default_limit = 100
    max_limit = 1_000
    #: The column that the rows are ordered by, ``-`` before it for the greatest first. No two rows have the same value.
    order: ClassVar[str] = "-id"
    cursor_schema: ClassVar[dict[str, Any]] = {"type": "string", "format": "uuid"}

    def paginate_queryset(self, queryset: Any, request: Request, view: APIView | None = None) -> list[Any]:
        """One page of rows. Raises Refused (400) where the cursor or the limit is not valid."""
        limit = self._limit(request)
        cursor = self._cursor(request)
        column, way = self.order.lstrip("-"), "lt" if self.order.startswith("-") else "gt"
        if cursor is not None:
            queryset = queryset.filter(**{f"{column}__{way}": cursor})
        rows = list(queryset.order_by(self.order)[: limit + 1])
        page = rows[:limit]
        self._next = None
        if len(rows) > limit:
            self._next = replace_query_param(request.build_absolute_uri(), "cursor", str(getattr(page[-1], column)))
        return page

    def get_paginated_response(self, data: Sequence[Any]) -> Response:
        return Response({"next": self._next, "results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["next", "results"],
            "properties": {
                "next": {"type": "string", "nullable": True, "format": "uri", "description": "The next page."},
                "results": schema,
            },
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        return [
            {
                "name": "cursor",
                "in": "query",
                "description": "Where the page begins; `next` has it.",
                "schema": self.cursor_schema,
            },
            {
                "name": "limit",
                "in": "query",
                "description": "Rows on a page.",
                "schema": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": self.max_limit,
                    "default": self.default_limit,
                },
            },
        ]

    def _limit(self, request: Request) -> int:
        raw = request.query_params.get("limit", str(self.default_limit))
        if not (len(raw) <= 9 and raw.isascii() and raw.isdigit() and 1 <= int(raw) <= self.max_limit):
            raise refused("limit", "invalid", f"limit must be a whole number from 1 to {self.max_limit}, got {raw!r}.")
        return int(raw)

    def parse_cursor(self, raw: str) -> Any:
        """The id where a page begins. Raises ValueError where the text is none."""
        return UUID(raw)

    def _cursor(self, request: Request) -> Any:
        raw = request.query_params.get("cursor")
        if raw is None:
            return None
        try:
            return self.parse_cursor(raw)
        except ValueError:
            raise refused(
                "cursor", "invalid", f"cursor must come from `next` of an earlier page, got {raw!r}."
            ) from None


class NewestNumberFirst(NewestFirst):
    """The same for rows whose ids are numbers."""

    cursor_schema = {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}

    def parse_cursor(self, raw: str) -> Any:
        """The number where a page begins. Raises ValueError where the text is none."""
        if not (raw.isascii() and raw.isdigit() and len(raw) <= 19 and 0 < int(raw) < 2**63):
            raise ValueError(raw)
        return int(raw)


class ByCode(NewestFirst):
    """Pages by code."""

    order = "code"
    cursor_schema = {"type": "string", "maxLength": 100}

    def parse_cursor(self, raw: str) -> Any:
        """The code where a page begins. Raises ValueError where the text is none."""
        if not is_code(raw):
            raise ValueError(raw)
        return raw


class FirstAttemptFirst(NewestNumberFirst):
    """Pages of attempts in the order in which they were made."""

    order = "number"
