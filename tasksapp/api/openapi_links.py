"""Links of the OpenAPI document: which answers have what another operation takes."""

from __future__ import annotations

from typing import Any, NamedTuple


class _Link(NamedTuple):
    """From one operation's answer to another operation.

    Args:
        source: the operation whose answer it is.
        status: of the answer.
        name: of the link.
        target: the operation that it leads to.
        parameters: by the target's parameter, where its value is.
    """

    source: str
    status: str
    name: str
    target: str
    parameters: dict[str, str]


_JOB, _BIZ_TYPE = {"id": "$response.body#/id"}, {"code": "$response.body#/code"}
_READ_TYPE = {"code": "$response.body#/biz_type"}
_LINKS = [
    *(
        _Link(source, status, name, target, _JOB)
        for source, status in (("jobs_create", "201"), ("jobs_create", "200"), ("jobs_retrieve", "200"))
        for name, target in (
            ("ReadJob", "jobs_retrieve"),
            ("ListAttempts", "jobs_attempts_list"),
            ("ChangeJob", "jobs_partial_update"),
            ("CancelJob", "jobs_cancel_create"),
            ("RunJob", "jobs_run_create"),
            ("RedriveJob", "jobs_redrive_create"),
            ("DropJob", "jobs_drop_create"),
        )
        if target != source
    ),
    _Link("jobs_create", "201", "ReadBizType", "biz_types_retrieve", _READ_TYPE),
    *(
        _Link("biz_types_create", "201", name, target, _BIZ_TYPE)
        for name, target in (
            ("ReadBizType", "biz_types_retrieve"),
            ("ChangeBizType", "biz_types_partial_update"),
            ("PauseBizType", "biz_types_pause_create"),
            ("ResumeBizType", "biz_types_resume_create"),
            ("RotateSecret", "biz_types_rotate_create"),
            ("SetCredentials", "biz_types_credentials_update"),
            ("ForecastBizType", "forecast_biz_type"),
            ("DeleteBizType", "biz_types_destroy"),
        )
    ),
    *(
        _Link("operations_create", "201", name, target, _JOB)
        for name, target in (
            ("ReadOperation", "operations_retrieve"),
            ("StartOperation", "operations_start_create"),
            ("PaceOperation", "operations_pace_create"),
            ("StopOperation", "operations_stop_create"),
            ("PlanRest", "operations_rest_create"),
        )
    ),
    *(
        _Link("series_create", "201", name, target, _JOB)
        for name, target in (
            ("ReadSeries", "series_retrieve"),
            ("ChangeSeries", "series_partial_update"),
            ("PauseSeries", "series_pause_create"),
            ("ResumeSeries", "series_resume_create"),
            ("TriggerSeries", "series_trigger_create"),
            ("DeleteSeries", "series_destroy"),
        )
    ),
    *(
        _Link("keys_create", "201", name, target, _JOB)
        for name, target in (
            ("ReadKey", "keys_retrieve"),
            ("ChangeKey", "keys_partial_update"),
            ("RotateKey", "keys_rotate_create"),
            ("EndPreviousKey", "keys_end_previous_create"),
            ("RevokeKey", "keys_destroy"),
        )
    ),
]


def add_links(operations: dict[str, dict[str, Any]]) -> None:
    """Adds the links to those operations, by their ids. Raises KeyError where one leads nowhere."""
    for link in _LINKS:
        links = operations[link.source]["responses"][link.status].setdefault("links", {})
        links[link.name] = {"operationId": operations[link.target]["operationId"], "parameters": link.parameters}
