"""The parameters of ``create`` are the fields of a request, to people and to programs that ask."""

from __future__ import annotations

import inspect
from dataclasses import fields

from tasksapp.jobs.creation import JobRequest, create


def test_create_takes_a_biz_type_each_field_of_a_request_a_tenant_a_database_and_who_asks() -> None:
    parameters = inspect.signature(create).parameters

    assert set(parameters) == {field.name for field in fields(JobRequest)} | {"tenant", "using", "by"}
    assert parameters["biz_type"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert {parameter.kind for name, parameter in parameters.items() if name != "biz_type"} == {
        inspect.Parameter.KEYWORD_ONLY
    }
    assert parameters["biz_id"].default == ""
