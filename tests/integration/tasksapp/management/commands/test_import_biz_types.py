"""``manage.py export_biz_types`` and ``import_biz_types``: one document for Git."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError

from tasksapp.models import AuditEntry, BizType, Tenant
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.commands import run_command

pytestmark = pytest.mark.django_db


def test_an_export_is_imported_elsewhere_and_again(make_biz_type: MakeBizType, tmp_path: Path) -> None:
    make_biz_type("a", weight=7)
    file = tmp_path / "biz_types.json"
    file.write_text(run_command("export_biz_types"))
    Tenant.objects.create(code="acme")

    first = run_command("import_biz_types", str(file), "--tenant", "default")
    BizType.objects.update(weight=1)
    tried = run_command("import_biz_types", str(file), "--dry-run")
    second = run_command("import_biz_types", str(file))

    assert first == "a: the same\n  its callbacks are not signed: make a secret in the admin, or by POST …/rotate\n"
    assert "a: changed\n  weight: 1 -> 7\n" in tried
    assert tried.endswith("This was a dry run: nothing is stored.\n")
    assert "weight: 1 -> 7" in second
    assert BizType.objects.get().weight == 7
    assert AuditEntry.objects.get().actor == "manage.py"


def test_faults_are_said_with_their_places_and_nothing_is_stored(tmp_path: Path) -> None:
    file = tmp_path / "biz_types.json"
    file.write_text(json.dumps({"version": 1, "biz_types": [{"code": "a", "url": "https://a.example/", "weight": 0}]}))

    with pytest.raises(CommandError, match=r"biz_types\.0\.weight: "):
        run_command("import_biz_types", str(file))
    assert not BizType.objects.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2, "biz_types": []}', '{"a": 1, "a": 2}'])
def test_what_is_no_document_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "biz_types.json"
    file.write_text(text)

    with pytest.raises(CommandError):
        run_command("import_biz_types", str(file))


def test_an_unknown_tenant_is_refused() -> None:
    with pytest.raises(CommandError, match="there is no tenant 'acme'"):
        run_command("export_biz_types", "--tenant", "acme")
