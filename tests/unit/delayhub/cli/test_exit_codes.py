"""What a script learns of how a command went."""

from __future__ import annotations

import re

import pytest

from delayhub.cli.exit_codes import ExitCode, exit_code_of
from delayhub.client.errors import ApiError, Unreachable, WaitTimeout, problem
from tests.repository import ROOT


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (problem("GET /jobs", status=400, document={}), ExitCode.FAILED),
        (problem("GET /jobs", status=404, document={}), ExitCode.NOT_FOUND),
        (problem("GET /jobs", status=409, document={}), ExitCode.CONFLICT),
        (problem("GET /jobs", status=412, document={}), ExitCode.CONFLICT),
        (problem("GET /jobs", status=401, document={}), ExitCode.NOT_ALLOWED),
        (problem("GET /jobs", status=403, document={}), ExitCode.NOT_ALLOWED),
        (problem("GET /jobs", status=429, document={}), ExitCode.UNAVAILABLE),
        (problem("GET /jobs", status=503, document={}), ExitCode.UNAVAILABLE),
        (problem("GET /jobs", status=500, document={}), ExitCode.FAILED),
        (Unreachable("GET /jobs", "cut", was_sent=True), ExitCode.UNAVAILABLE),
        (WaitTimeout("late"), ExitCode.TIMED_OUT),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: ApiError, code: ExitCode) -> None:
    assert exit_code_of(error) is code


def test_the_page_lists_them_all() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()

    listed = {int(code): meaning for code, meaning in re.findall(r"^\| (\d+) \| (.+?) \|$", page, re.MULTILINE)}

    assert listed == {code.value: code.meaning for code in ExitCode}
