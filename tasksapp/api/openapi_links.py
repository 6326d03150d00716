"""Links of the OpenAPI document: which answers have what another operation takes."""

from __future__ import annotations

from typing import Any, NamedTuple


class _Links(NamedTuple):
    """From the answers of one operation to others.

    Args:
        source: the operation whose answers they are.
        statuses: of the answers.
        parameters: by the targets' parameter, where its value is.
        targets: the operations that they lead to.
    """

    source: str
    statuses: tuple[str, ...]
    parameters: dict[str, str]
    targets: str


_ID, _CODE = {"id": "$response.body#/id"}, {"code": "$response.body#/code"}
_CHANGES_OF_JOBS = "list_job_attempts change_job cancel_job run_job_now redrive_job drop_job"
_LINKS = [
    _Links("create_job", ("200", "201"), _ID, f"read_job {_CHANGES_OF_JOBS}"),
    _Links("create_job", ("201",), {"code": "$response.body#/biz_type"}, "read_biz_type"),
    _Links("read_job", ("200",), _ID, _CHANGES_OF_JOBS),
    _Links(
        "create_biz_type",
        ("201",),
        _CODE,
        "read_biz_type change_biz_type pause_biz_type resume_biz_type rotate_signing_secret set_credentials"
        " forecast_biz_type delete_biz_type",
    ),
    _Links(
        "plan_operation",
        ("201",),
        _ID,
        "read_operation start_operation pace_operation stop_operation plan_rest_of_operation",
    ),
    _Links(
        "create_series",
        ("201",),
        _ID,
        "read_series change_series pause_series resume_series trigger_series delete_series",
    ),
    _Links(
        "issue_api_key",
        ("201",),
        _ID,
        "read_api_key change_api_key rotate_api_key end_previous_api_key revoke_api_key",
    ),
]


def add_links(operations: dict[str, dict[str, Any]]) -> None:
    """Adds the links to those operations, by their ids. Raises KeyError where one leads nowhere."""
    for source, statuses, parameters, targets in _LINKS:
        for status in statuses:
            links = operations[source]["responses"][status].setdefault("links", {})
            for target in targets.split():
                name = target.title().replace("_", "")
                links[name] = {"operationId": operations[target]["operationId"], "parameters": parameters}
