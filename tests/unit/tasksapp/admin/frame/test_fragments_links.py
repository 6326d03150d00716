"""Addresses with a query, on the admin site that the person is on."""

from __future__ import annotations

from tasksapp.admin.frame.fragments import jobs_address, plan_address


def test_jobs_and_operations_are_named_by_the_parameters_of_a_filter() -> None:
    assert jobs_address(site="admin", tab="dead", biz_type="a.b") == "/admin/tasksapp/job/?tab=dead&biz_type=a.b"
    assert plan_address("redrive", site="admin", error_class="http.503&x").endswith(
        "?verb=redrive&error_class=http.503%26x"
    )
