"""The document is made once, of our operations, by our settings; with openapi_links and openapi_words."""

from __future__ import annotations

import json

from django.utils.translation import override
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.settings import spectacular_settings

from tasksapp.api import openapi_document as module
from tasksapp.api.openapi_document import openapi_document
from tasksapp.api.openapi_schemas import operations_of


def test_its_addresses_begin_at_its_server() -> None:
    document = openapi_document(prefix="/shop/delay")

    assert document["servers"] == [{"url": "/shop/delay", "description": "This site"}]
    assert all(path.startswith("/v1/") for path in document["paths"])
    assert openapi_document(prefix="")["servers"][0]["url"] == "/"


def test_operations_are_named_and_grouped_without_the_version() -> None:
    document = openapi_document(prefix="/api")
    create = document["paths"]["/v1/jobs"]["post"]

    assert create["operationId"] == "jobs_create"
    assert create["tags"] == ["Jobs"]
    assert document["paths"]["/v1/biz-types/{code}/jobs/{biz_id}"]["get"]["tags"] == ["Jobs"]
    used = {tag for _, operation in operations_of(document).values() for tag in operation["tags"]}
    assert {tag["name"] for tag in document["tags"]} == used | {"Callbacks"}


def test_it_is_of_openapi_3_1_and_has_nothing_that_only_3_0_knows() -> None:
    document = openapi_document(prefix="/api")

    assert document["openapi"].startswith("3.1")
    assert '"nullable"' not in json.dumps(document)


def test_every_request_and_answer_has_an_example() -> None:
    for name, (_, operation) in operations_of(openapi_document(prefix="/api")).items():
        for body in (operation.get("requestBody", {}), *operation["responses"].values()):
            for media in body.get("content", {}).values():
                assert "example" in media or "examples" in media, name


def test_links_lead_to_operations_with_parameters_that_these_take() -> None:
    found = operations_of(openapi_document(prefix="/api"))
    seen = 0

    for _, operation in found.values():
        for answer in operation["responses"].values():
            for link in answer.get("links", {}).values():
                _, target = found[link["operationId"]]
                assert link["parameters"].keys() <= {each["name"] for each in target["parameters"]}
                seen += 1
    assert seen >= 20


def test_the_language_of_the_first_who_asks_does_not_matter() -> None:
    with override("zh-hans"):
        made = module._document.__wrapped__()

    assert made == module._document()


def test_it_is_made_without_a_complaint_and_leaves_the_projects_settings_as_they_were() -> None:
    before = (spectacular_settings.TITLE, spectacular_settings.COMPONENT_SPLIT_PATCH)
    GENERATOR_STATS.reset()

    made = module._document.__wrapped__()

    assert made["info"]["title"] == "DelayHub"
    assert not GENERATOR_STATS
    assert before == (spectacular_settings.TITLE, spectacular_settings.COMPONENT_SPLIT_PATCH)
