"""Imports of biz types: what is refused before anything is stored."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.biz_types.document import export_document, import_document
from tasksapp.errors import InvalidBizType
from tasksapp.models import UNTIL_RESUMED, BizType
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db

ENTRY = {"code": "a", "url": "https://a.example/"}


def imported(document: Any, **options: Any) -> Any:
    return import_document(document, within=BizType.objects.using("default"), tenant_id=1, **options)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (None, "biz_types"),
        ({}, "version"),
        ({"version": True, "biz_types": []}, "version"),
        ({"version": 1}, "biz_types"),
        ({"version": 1, "biz_types": {}}, "biz_types"),
        ({"version": 1, "biz_types": [ENTRY] * 1_001}, "biz_types"),
        ({"version": 1, "biz_types": [5]}, "biz_types.0.code"),
        ({"version": 1, "biz_types": [{}]}, "biz_types.0.code"),
        ({"version": 1, "biz_types": [ENTRY, ENTRY]}, "biz_types.1.code"),
        ({"version": 1, "biz_types": [], "secrets": {}}, "secrets"),
        ({"version": 1, "biz_types": [{**ENTRY, "signing_secret": "x"}]}, "biz_types.0.signing_secret"),
    ],
)
def test_what_is_no_document_is_refused(document: Any, field: str) -> None:
    with pytest.raises(InvalidBizType) as refused:
        imported(document)

    assert refused.value.faults[0].field == field
    assert not BizType.objects.exists()


def test_credentials_of_a_biz_type_that_is_not_in_the_document_are_refused() -> None:
    with pytest.raises(InvalidBizType, match="the document has no biz type 'b'"):
        imported({"version": 1, "biz_types": [ENTRY]}, credentials={"b": "x"})

    assert not BizType.objects.exists()


def test_a_pause_and_a_signing_secret_stay(make_biz_type: MakeBizType) -> None:
    stored = make_biz_type("a", paused_until=UNTIL_RESUMED, signing_secret="whsec_" + "c2VjcmV0" * 4)
    document = export_document([stored])
    document["biz_types"][0]["weight"] = 9

    done = imported(document)

    stored.refresh_from_db()
    assert (done.changes[0].action, done.changes[0].needs) == ("change", [])
    assert (stored.weight, stored.paused_until, stored.signing_secret[:6]) == (9, UNTIL_RESUMED, "whsec_")


def test_a_document_of_an_earlier_release_takes_back_nothing_that_it_does_not_know(make_biz_type: MakeBizType) -> None:
    stored = make_biz_type("a", masked_fields=["/pin"], encrypted=True, weight=9)
    document = export_document([stored])
    for name in ("masked_fields", "encrypted"):
        del document["biz_types"][0][name]
    document["biz_types"][0]["weight"] = 1

    done = imported(document)

    stored.refresh_from_db()
    assert (stored.masked_fields, stored.encrypted, stored.weight) == (["/pin"], True, 1)
    assert done.changes[0].after == {"weight": 1}


def test_credentials_do_not_follow_to_another_host(make_biz_type: MakeBizType) -> None:
    stored = make_biz_type("a", auth="bearer", auth_secret="hush")
    document = export_document([stored])
    document["biz_types"][0]["url"] = "https://elsewhere.example/"

    with pytest.raises(InvalidBizType, match="another host"):
        imported(document)
    done = imported(document, credentials={"a": "new"})

    stored.refresh_from_db()
    assert done.changes[0].after["auth_secret"] == "changed"
    assert stored.auth_secret == "new"


def test_one_document_says_of_a_biz_type_and_of_what_follows_from_it_whether_they_are_encrypted(
    make_biz_type: MakeBizType,
) -> None:
    stored = [make_biz_type("a", on_success="b"), make_biz_type("b")]
    for marks in ((True, True), (True, False), (False, False)):
        document = export_document(stored)
        for entry, encrypted in zip(document["biz_types"], marks, strict=True):
            entry["encrypted"] = encrypted

        imported(document)

        assert tuple(BizType.objects.order_by("code").values_list("encrypted", flat=True)) == marks
