"""How many bytes the bodies of jobs have, without reading them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connections
from django.db.models import BinaryField, F, Func, IntegerField, Value
from django.db.models.functions import Cast, Coalesce, Length

from tasksapp.models import Job


def body_sizes(ids: Sequence[UUID], *, using: str) -> dict[UUID, int]:
    """By their ids, as the bodies of those jobs are stored; exact bytes count too."""
    text, raw = F("body"), F("raw")
    bytes_of: list[Any]
    if connections[using].vendor == "postgresql":
        # It knows that without the value itself, which may lie elsewhere, compressed.
        bytes_of = [Func(each, function="octet_length", output_field=IntegerField()) for each in (text, raw)]
    else:
        bytes_of = [Length(Cast(text, BinaryField())), Length(raw)]
    size = bytes_of[0] + Coalesce(bytes_of[1], Value(0))
    return dict(Job.objects.using(using).filter(id__in=ids).annotate(size=size).values_list("id", "size"))
