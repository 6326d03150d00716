"""Each list of the API has pages and a bound, or a reason for which it needs none."""

from __future__ import annotations

from typing import Any

from tasksapp.api.openapi.document import openapi_document

#: Answers with a list and no pages, and what bounds them.
WITHOUT_PAGES = {
    "/v1/biz-type-definitions": "a document, which is kept and compared as a whole",
    "/v1/biz-types/{code}": "columns of one biz type, bounded by its validation",
    "/v1/biz-types/{code}/flow-keys": "each part has a bound of its own",
    "/v1/biz-types/{code}/key-pairs": "two keys at most",
    "/v1/issues": "kinds of errors of the caller's biz types",
    "/v1/jobs/{id}/links": "links of one job",
    "/v1/key": "scopes",
    "/v1/keys/{id}": "scopes",
    "/v1/series/{id}": "times of one series, bounded by its validation",
    "/v1/stats": "numbers of the caller's biz types",
    "/v1/stats/series": "points of a range of time, bounded by the step",
}


def test_each_list_has_pages_or_a_reason_for_none() -> None:
    document = openapi_document(prefix="/api")

    def schema_of(schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    whole = set()
    for path, operations in document["paths"].items():
        operation = operations.get("get", {"responses": {}})
        parameters = {each.get("name"): each["schema"] for each in operation.get("parameters", ()) if "schema" in each}
        for content in operation["responses"].get("200", {}).get("content", {}).values():
            answer = schema_of(content["schema"])
            fields = {name: schema_of(each) for name, each in answer.get("properties", {}).items()}
            has_list = answer.get("type") == "array" or any(each.get("type") == "array" for each in fields.values())
            if not has_list:
                continue
            if "next" in fields and "cursor" in parameters:
                assert parameters["limit"]["maximum"] <= 1_000, path
            else:
                whole.add(path)

    assert whole == set(WITHOUT_PAGES)
