"""The document of all biz types over REST."""

from __future__ import annotations

import pytest

from tasksapp.models import ApiKey, AuditEntry, BizType
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/biz-type-definitions"


def test_an_export_comes_back_by_an_import_that_changes_nothing(ask_fully: Ask, make_biz_type: MakeBizType) -> None:
    make_biz_type("a", signing_secret="whsec_" + "c2VjcmV0" * 4, auth="bearer", auth_secret="hush")
    make_biz_type("b", max_age=None, backoff="list", backoff_list=[1, 2.5])

    exported = ask_fully("GET", PATH)
    imported = ask_fully("PUT", PATH, exported.json())

    assert b"hush" not in exported.content
    assert b"c2VjcmV0" not in exported.content
    assert [change["action"] for change in imported.json()["changes"]] == ["none", "none"]
    assert not AuditEntry.objects.exists()


def test_a_dry_run_lists_the_differences_and_stores_nothing(ask_fully: Ask, make_biz_type: MakeBizType) -> None:
    make_biz_type("a", weight=3)
    make_biz_type("other")
    document = {
        "version": 1,
        "biz_types": [{"code": "a", "weight": 1}, {"code": "b", "url": "https://b.example/"}],
    }

    tried = ask_fully("PUT", f"{PATH}?dry_run=true", document).json()
    stored = list(BizType.objects.values_list("code", "weight"))
    done = ask_fully("PUT", PATH, document).json()

    assert stored == [("a", 3), ("other", 1)]
    first, second = tried["changes"]
    assert (first["action"], first["before"], first["after"]) == ("change", {"weight": 3}, {"weight": 1})
    assert (second["action"], second["needs"]) == ("create", ["signing_secret"])
    assert tried["left_alone"] == ["other"]
    assert {**done, "dry_run": True} == tried
    assert list(BizType.objects.values_list("code", "weight")) == [("a", 1), ("b", 1), ("other", 1)]
    assert set(AuditEntry.objects.values_list("verb", "actor")) == {
        ("biz_type.edit", "api:caller"),
        ("biz_type.add", "api:caller"),
    }


def test_one_fault_keeps_all_of_it_from_being_stored(ask_fully: Ask, make_biz_type: MakeBizType) -> None:
    make_biz_type("a")
    document = {
        "version": 1,
        "biz_types": [
            {"code": "a", "url": "https://shop.example/hooks", "weight": 7},
            {"code": "b", "url": "https://b.example/", "colour": "red"},
            {"code": "c", "url": "https://c.example/", "weight": 0},
        ],
    }

    refused = problem(ask_fully("PUT", PATH, document), 400)

    assert [error["field"] for error in refused["errors"]] == ["biz_types.1.colour", "biz_types.2.weight"]
    assert list(BizType.objects.values_list("code", "weight")) == [("a", 1)]


def test_credentials_come_beside_the_document(ask_fully: Ask) -> None:
    document = {"version": 1, "biz_types": [{"code": "a", "url": "https://a.example/", "auth": "bearer"}]}

    lacking = problem(ask_fully("PUT", PATH, document), 400)
    done = ask_fully("PUT", PATH, {**document, "credentials": {"a": "hush"}})
    again = ask_fully("PUT", PATH, document).json()

    assert lacking["errors"][0]["field"] == "biz_types.0.auth_secret"
    assert b"hush" not in done.content
    assert BizType.objects.get().auth_secret == "hush"
    assert again["changes"][0]["action"] == "none"


@pytest.mark.parametrize("query", ["?dry_run=yes", "?dry-run=true", "?dry_run="])
def test_a_dry_run_that_is_misspelt_is_no_import(ask_fully: Ask, query: str) -> None:
    problem(ask_fully("PUT", f"{PATH}{query}", {"version": 1, "biz_types": []}), 400)


def test_a_key_for_certain_biz_types_exports_these_and_imports_none(ask_fully: Ask, make_biz_type: MakeBizType) -> None:
    make_biz_type("a")
    ApiKey.objects.update(biz_type_ids=[make_biz_type("b").pk])

    exported = ask_fully("GET", PATH).json()

    assert [each["code"] for each in exported["biz_types"]] == ["b"]
    problem(ask_fully("PUT", PATH, exported), 403)


def test_an_import_takes_only_tasks_that_the_project_allows_and_those_that_are_stored(
    ask_fully: Ask, make_biz_type: MakeBizType
) -> None:
    make_biz_type("a", url="", target="celery", task_name="shop.tasks.old", task_queue="old")
    document = ask_fully("GET", PATH).json()
    assert ask_fully("PUT", PATH, document).json()["changes"][0]["action"] == "none"

    document["biz_types"].append({"code": "b", "target": "celery", "task_name": "tasksapp.deliver"})
    refused = problem(ask_fully("PUT", PATH, document), 400)

    assert [error["field"] for error in refused["errors"]] == ["biz_types.1.task_name"]
    assert not BizType.objects.filter(code="b").exists()
