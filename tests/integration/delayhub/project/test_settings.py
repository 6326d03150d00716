"""Settings of the ready-made project that hold wherever an operator mounts its parts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import include, path
from drf_spectacular.generators import SchemaGenerator


@pytest.mark.parametrize("prefix", ["api/", "timeouts/v2/api/", ""])
def test_operations_are_named_and_grouped_without_the_prefix_of_the_api(prefix: str) -> None:
    urls: Any = SimpleNamespace(urlpatterns=[path(prefix, include("tasksapp.api.urls"))])

    schema = SchemaGenerator(urlconf=urls).get_schema(public=True)

    create = schema["paths"][f"/{prefix}v1/jobs"]["post"]
    assert create["operationId"] == "jobs_create"
    assert create["tags"] == ["jobs"]
