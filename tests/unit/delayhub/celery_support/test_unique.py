"""The key that a unique task's call has, and what can be said of one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from celery import Celery
from kombu.utils.json import dumps, loads

from delayhub.celery_support.unique import MAX_TEXT, Unique
from delayhub.errors import OptionError


@pytest.fixture
def task() -> Any:
    app = Celery("shop", set_as_current=False, fixups=())

    @app.task(name="shop.close", bind=True, shared=False)
    def close(self: Any, order: Any, force: bool = False, **more: Any) -> None:
        del self, order, force, more

    return app.tasks["shop.close"]


SAME = [
    ((7,), {}),
    ((), {"order": 7}),
    ((7, False), {}),
    ((7,), {"force": False}),
]


@pytest.mark.parametrize(("args", "kwargs"), SAME)
def test_the_same_call_has_the_same_key_however_it_is_written(
    task: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    assert Unique().key_of("shop.close", task, args, kwargs) == "shop.close(order=7, force=false, more={})"


def test_other_calls_have_other_keys(task: Any) -> None:
    calls: list[Any] = [7, 7.5, "7", None, True, [7], {"a": 7}]

    keys = {Unique().key_of("shop.close", task, (one,), {}) for one in calls}

    assert len(keys) == len(calls)


def test_dicts_have_no_order_and_values_of_celerys_json_work(task: Any) -> None:
    moment = datetime(2026, 11, 22, tzinfo=UTC)

    one = Unique().key_of("shop.close", task, ({"a": 1, "b": moment},), {})
    other = Unique().key_of("shop.close", task, ({"b": moment, "a": 1},), {})

    assert one == other


def test_a_key_by_some_arguments_leaves_the_others_out(task: Any) -> None:
    unique = Unique(by=["order"])

    assert unique.key_of("shop.close", task, (7, True), {}) == "shop.close(order=7)"
    with pytest.raises(OptionError, match="by nothing, which the call does not have"):
        Unique(by=["nothing"]).key_of("shop.close", task, (7,), {})


def test_a_long_key_is_a_hash(task: Any) -> None:
    keys = {Unique().key_of("shop.close", task, ("x" * MAX_TEXT + end,), {}) for end in "ab"}

    assert len(keys) == 2
    assert all(key.startswith("shop.close(sha256:") for key in keys)


def test_a_function_or_a_text_makes_a_key_of_its_own(task: Any) -> None:
    assert Unique(key=lambda order, **_: f"order:{order}").key_of("shop.close", task, (7,), {}) == "order:7"
    assert Unique(key="nightly").key_of("shop.close", task, (7,), {}) == "nightly"
    with pytest.raises(OptionError, match="must give a text, got 7"):
        Unique(key=lambda order: order).key_of("shop.close", task, (7,), {})


def test_a_function_that_raises_is_named_with_its_task(task: Any) -> None:
    with pytest.raises(OptionError, match=r"unique key of shop\.close raised ZeroDivisionError") as caught:
        Unique(key=lambda order: str(1 / 0)).key_of("shop.close", task, (7,), {})

    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_program_that_does_not_know_the_task_needs_names(task: Any) -> None:
    assert Unique(by=["order"]).key_of("shop.close", None, (), {"order": 7, "force": True}) == Unique(
        by=["order"]
    ).key_of("shop.close", task, (7,), {})
    with pytest.raises(OptionError, match="does not know the task"):
        Unique().key_of("shop.close", None, (), {"order": 7})
    with pytest.raises(OptionError, match="does not know the task"):
        Unique(by=["order"]).key_of("shop.close", None, (7,), {})


def test_arguments_that_make_no_key_are_refused(task: Any) -> None:
    with pytest.raises(OptionError, match="needs arguments that JSON has"):
        Unique().key_of("shop.close", task, (object(),), {})
    with pytest.raises(OptionError, match="cannot be made"):
        Unique().key_of("shop.close", task, (), {})


@pytest.mark.parametrize(
    "options",
    [
        {"by": ["a"], "key": "b"},
        {"by": "order"},
        {"by": []},
        {"by": {"order", "force"}},  # its order is another one in each process
        {"by": [7]},
        {"key": 7},
        {"until": float("inf")},
        {"until": float("nan")},
        {"until": 1e20},
        {"until": "done"},
        {"until": 0},
        {"until": True},
        {"until": 5, "when_taken": "replace"},
        {"when_taken": "wait"},
        {"in_canvas": "refuse"},
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        Unique(**options)


def test_the_option_of_a_call_adds_to_what_the_task_says() -> None:
    declared = Unique(by=["order"], until="start")

    assert Unique.of(None, declared=declared) is None
    assert Unique.of(False, declared=declared) is None
    assert Unique.of(True) == Unique()
    assert Unique.of(True, declared=declared) == declared
    assert Unique.of("k", declared=declared) == Unique(key="k", until="start")
    assert Unique.of({"by": ["order"]}, declared=declared) == Unique(by=["order"])
    for wrong in (7, {"bye": 1}):
        with pytest.raises(OptionError):
            Unique.of(wrong)


def test_it_travels_in_the_messages_of_canvas() -> None:
    unique = Unique(by=["order"], until=60, when_taken="raise")

    assert Unique.of(loads(dumps(unique))) == unique
    with pytest.raises(OptionError, match="declare it at the task"):
        dumps(Unique(key=lambda: "k"))
