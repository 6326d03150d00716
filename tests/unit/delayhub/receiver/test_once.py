"""Hooks: what they answer before an inbox is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from delayhub.receiver import Answer, ReceivedCallback, Verifier, once
from tests.signed_callbacks import SECRET, signed

VERIFIER = Verifier(SECRET)


class Notebook:
    """An inbox that has seen nothing before and notes the keys."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def take(self, key: str, work: Callable[[str], Answer]) -> Answer:
        self.keys.append(key)
        return work("transaction")


class AsyncNotebook:
    """The same, asynchronous."""

    async def take(self, key: str, work: Callable[[str], Awaitable[Answer]]) -> Answer:
        return await work("transaction")


def test_a_request_without_a_right_signature_is_answered_with_401_and_reaches_no_inbox() -> None:
    notebook = Notebook()
    hook = once(VERIFIER, notebook)(lambda callback, work: None)

    assert hook({}, b"{}").status == 401
    assert notebook.keys == []


def test_a_test_of_the_receiver_is_answered_and_does_nothing() -> None:
    notebook = Notebook()
    hook = once(VERIFIER, notebook)(lambda callback, work: None)

    assert hook(signed("job-1", delayhub_test="1"), b"{}").status == 204
    assert notebook.keys == []


@pytest.mark.parametrize(("count_redrives", "key"), [(True, "job-1:1"), (False, "job-1")])
def test_the_function_gets_the_callback_and_the_transaction(count_redrives: bool, key: str) -> None:
    notebook = Notebook()

    @once(VERIFIER, notebook, count_redrives=count_redrives)
    def hook(callback: ReceivedCallback, work: str) -> Answer:
        return Answer(200, body=f"{callback.id} {work}".encode())

    assert hook(signed("job-1", delayhub_redrive="1"), b"{}").body == b"job-1 transaction"
    assert notebook.keys == [key]


def test_an_asynchronous_function_works_the_same() -> None:
    @once(VERIFIER, AsyncNotebook())
    async def hook(callback: ReceivedCallback, work: str) -> None:
        seen.append((callback.id, work))

    seen: list[Any] = []
    answers = [asyncio.run(hook(headers, b"{}")).status for headers in ({}, signed("job-1", delayhub_test="1"))]

    assert answers == [401, 204]
    assert asyncio.run(hook(signed("job-1"), b"{}")).status == 204
    assert seen == [("job-1", "transaction")]


def test_a_function_and_an_inbox_of_two_kinds_are_refused_where_they_are_defined() -> None:
    async def later(callback: ReceivedCallback, work: str) -> None: ...

    def now(callback: ReceivedCallback, work: str) -> None: ...

    with pytest.raises(TypeError, match="needs a plain def"):
        once(VERIFIER, Notebook())(later)  # type: ignore[arg-type]  # that is what is tried
    with pytest.raises(TypeError, match="needs an async def"):
        once(VERIFIER, AsyncNotebook())(now)  # type: ignore[arg-type]  # that is what is tried
