"""ExportFile: what is cut off or changed is refused before anything of it is stored."""

from __future__ import annotations

import io

import pytest

from tasksapp import jobs
from tasksapp.errors import InvalidExport
from tasksapp.models import Tenant
from tasksapp.transfer.export_file import ExportFile
from tasksapp.transfer.exporter import Exporter
from tasksapp.transfer.transfer_key import TransferKey
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lines(make_biz_type: MakeBizType) -> list[str]:
    """An export of a biz type and two jobs: five lines."""
    make_biz_type("order.close")
    for _ in range(2):
        jobs.create("order.close", delay=60)
    tenant = Tenant.objects.get()
    return list(Exporter(tenant, key=TransferKey(), using="default").lines())


def export_of(lines: list[str]) -> ExportFile:
    return ExportFile(io.BytesIO("".join(lines).encode()))


def test_a_whole_one_says_what_it_has_and_gives_it_in_order(lines: list[str]) -> None:
    export = export_of(lines)

    assert export.head["tenant"] == "default"
    assert export.counts == {"biz_type": 1, "job": 2}
    assert [(number, record["kind"]) for number, record in export.records()] == [
        (2, "biz_type"), (3, "job"), (4, "job"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (lambda lines: [], "it is no export"),
        (lambda lines: ["no JSON\n"], "line 1 is no JSON"),
        (lambda lines: ["[1]\n"], "line 1 is no record"),
        (lambda lines: lines[1:], "it is no export"),
        (lambda lines: lines[:-1], "its end is missing"),
        (lambda lines: [*lines[:-2], lines[-2][:40]], "line 4 is no JSON"),
        (lambda lines: [*lines[:2], *lines[3:]], "its checksum differs"),
        (lambda lines: [*lines[:3], lines[3].replace("null", "true"), lines[4]], "its checksum differs"),
        (lambda lines: [*lines, lines[-1]], "line 6: there is something after its end"),
        (lambda lines: [lines[0].replace('"version":1', '"version":2'), *lines[1:]], "reads version 1"),
        (lambda lines: [lines[0], lines[1].replace("biz_type", "task", 1), *lines[2:]], "there is no kind 'task'"),
    ],
)
def test_one_that_is_not_as_it_was_written_is_refused(lines: list[str], changed: object, said: str) -> None:
    assert callable(changed)

    with pytest.raises(InvalidExport, match=said):
        export_of(changed(lines))
