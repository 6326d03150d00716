"""The flow key of a call, and what cannot be one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from celery import Celery

from delayhub.celery_support.flow_key import declared_by, flow_key, headers_with
from delayhub.engine.task_name import FLOW_KEY_HEADER
from delayhub.errors import OptionError


def task_by(by: Any) -> Any:
    """A task whose flow keys are made that way."""
    app = Celery("shop", set_as_current=False, fixups=())

    @app.task(name="shop.mail", flow_key_by=by, shared=False)
    def mail(tenant: Any, number: int = 0) -> None:
        del tenant, number

    return app.tasks["shop.mail"]


@pytest.mark.parametrize(
    ("by", "args", "key"),
    [
        ("tenant", ("acme",), "acme"),
        ("tenant", (7,), "7"),
        ("tenant", (UUID(int=1),), str(UUID(int=1))),
        ("tenant", (None,), None),
        ("number", ("acme",), "0"),
        (lambda tenant, number=0: f"{tenant}-{number % 2}", ("acme", 3), "acme-1"),
        (lambda tenant: None, ("acme",), None),
    ],
)
def test_a_key_is_an_argument_or_what_a_function_makes_of_them(by: Any, args: Any, key: str | None) -> None:
    assert flow_key("shop.mail", task_by(by), args, {}) == key


@pytest.mark.parametrize("made", ["", "a:b", "{a}", 'say "a"', "a\\b", "a\nb", "x" * 101, True, 1.5, "\ud800"])
def test_what_cannot_be_part_of_a_redis_key_is_refused(made: Any) -> None:
    with pytest.raises(OptionError, match="a flow key"):
        flow_key("shop.mail", task_by("tenant"), (made,), {})


def test_an_argument_that_the_call_does_not_have_is_refused() -> None:
    with pytest.raises(OptionError, match="by customer, which the call does not have"):
        flow_key("shop.mail", task_by("customer"), ("acme",), {})
    with pytest.raises(OptionError, match="does not know the task"):
        flow_key("shop.mail", None, ("acme",), {})


def test_a_function_that_raises_is_named_with_its_task() -> None:
    with pytest.raises(OptionError, match=r"flow key of shop\.mail raised ZeroDivisionError") as caught:
        flow_key("shop.mail", task_by(lambda tenant: 1 / 0), ("acme",), {})

    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_call_without_its_arguments_is_about_its_flow_key() -> None:
    with pytest.raises(OptionError, match=r"the flow key of shop\.mail cannot be made: missing"):
        flow_key("shop.mail", task_by("tenant"), (), {})


def test_an_argument_among_any_others_can_be_the_key() -> None:
    app = Celery("shop", set_as_current=False, fixups=())

    @app.task(name="shop.any", flow_key_by="tenant", shared=False)
    def take(*args: Any, **options: Any) -> None: ...

    assert flow_key("shop.any", app.tasks["shop.any"], (1,), {"tenant": "acme"}) == "acme"


def test_an_option_that_is_neither_name_nor_function_is_refused() -> None:
    with pytest.raises(OptionError, match=r"flow_key_by of shop\.mail"):
        declared_by(task_by(["tenant"]))


def test_the_key_of_the_call_wins_and_a_retry_keeps_that_of_its_message() -> None:
    task = task_by("tenant")

    def made(headers: Any, key: Any, tenant: Any) -> Any:
        return headers_with(headers, key=key, name="shop.mail", task=task, args=(tenant,), kwargs={})

    assert made(None, None, "acme") == {FLOW_KEY_HEADER: "acme"}
    assert made({"a": 1}, "b", "acme") == {"a": 1, FLOW_KEY_HEADER: "b"}
    assert made(None, 7, "acme") == {FLOW_KEY_HEADER: "7"}
    assert made({FLOW_KEY_HEADER: "b"}, None, "acme") == {FLOW_KEY_HEADER: "b"}
    assert made(None, None, None) is None
