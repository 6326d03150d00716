"""Which state a caller has, and which it saw: by the headers of conditional requests."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory

from tasksapp.api.http.conditions import answer, check_match, condition_required, is_known, require_match
from tasksapp.api.http.problems import Refused

NOW = '"3-pending-1f"'
NAMING = ["*", NOW, f'"1-x", {NOW}', f'W/{NOW}, "x"', f"  {NOW}  "]
NAMING_NONE = ["", '"2-pending-1f"', "3-pending-1f", '"', "W/", f"{NOW[:-1]}", '"*"']


def request(**headers: str) -> Any:
    return RequestFactory().get("/api/v1/jobs/x", headers=headers)


@pytest.mark.parametrize("header", NAMING)
def test_a_header_that_names_the_state_is_a_304_and_lets_a_change_pass(header: str) -> None:
    reply = answer(request(**{"if-none-match": header}), {"id": 1}, etag=NOW)
    check_match(request(**{"if-match": header}), NOW)

    assert (reply.status_code, reply.data, reply["ETag"]) == (304, None, NOW)


@pytest.mark.parametrize("header", NAMING_NONE)
def test_a_header_that_names_another_state_is_answered_whole_and_stops_a_change(header: str) -> None:
    reply = answer(request(**{"if-none-match": header}), {"id": 1}, etag=NOW)
    with pytest.raises(Refused) as refused:
        check_match(request(**{"if-match": header}), NOW)

    assert (reply.status_code, reply.data, reply["ETag"]) == (200, {"id": 1}, NOW)
    assert (refused.value.problem.status, refused.value.problem.headers["ETag"]) == (412, NOW)


def test_without_the_headers_everything_is_answered_and_changed() -> None:
    check_match(request(), NOW)

    assert not is_known(request(), NOW)
    assert answer(request(), {}, etag=NOW).status_code == 200


def test_where_a_condition_is_required_its_absence_is_a_428() -> None:
    assert condition_required().problem.status == 428


def test_what_must_name_the_state_that_was_seen_is_a_428_without_it_and_a_412_with_another() -> None:
    with pytest.raises(Refused) as without:
        require_match(request(), NOW)
    with pytest.raises(Refused) as other:
        require_match(request(**{"if-match": '"x"'}), NOW)
    require_match(request(**{"if-match": NOW}), NOW)

    assert (without.value.problem.status, other.value.problem.status) == (428, 412)
    assert without.value.problem.headers["ETag"] == NOW
