"""The document is made once, of our operations, by our settings."""

from __future__ import annotations

from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.settings import spectacular_settings

from tasksapp.api import openapi_document as module
from tasksapp.api.openapi_document import openapi_document


def test_its_addresses_begin_at_its_server() -> None:
    document = openapi_document(prefix="/shop/delay")

    assert document["servers"] == [{"url": "/shop/delay"}]
    assert all(path.startswith("/v1/") for path in document["paths"])
    assert openapi_document(prefix="")["servers"] == [{"url": "/"}]


def test_operations_are_named_and_grouped_without_the_version() -> None:
    create = openapi_document(prefix="/api")["paths"]["/v1/jobs"]["post"]

    assert create["operationId"] == "jobs_create"
    assert create["tags"] == ["jobs"]


def test_it_is_made_without_a_complaint_and_leaves_the_projects_settings_as_they_were() -> None:
    before = (spectacular_settings.TITLE, spectacular_settings.COMPONENT_SPLIT_PATCH)
    GENERATOR_STATS.reset()

    made = module._document.__wrapped__()

    assert made["info"]["title"] == "DelayHub"
    assert not GENERATOR_STATS
    assert before == (spectacular_settings.TITLE, spectacular_settings.COMPONENT_SPLIT_PATCH)
