"""The hooks of a process without Celery: their answers fit a plain kombu consumer."""

from __future__ import annotations

import gc

from delayhub.transport.hooks import HOOKS_OPTION, Hooks, hooks, hooks_of, name_hooks


def test_without_celery_no_message_outlives_its_connection() -> None:
    assert Hooks().running_tags() == frozenset()


def test_without_celery_news_of_revoked_and_dead_messages_goes_nowhere() -> None:
    hooks = Hooks()

    hooks.on_revoked("task-1")
    hooks.on_dead(object(), "lost its process")


def test_each_part_can_be_filled_in() -> None:
    heard: list[str] = []
    hooks = Hooks(running_tags=lambda: frozenset({"7"}), on_revoked=heard.append)

    hooks.on_revoked("task-1")

    assert (hooks.running_tags(), heard) == (frozenset({"7"}), ["task-1"])


def test_hooks_are_found_by_the_name_in_a_connections_options_as_long_as_their_program_keeps_them() -> None:
    first, second = Hooks(), Hooks()
    options = {HOOKS_OPTION: name_hooks("shop", first)}

    assert hooks_of(options) is first
    assert hooks_of({HOOKS_OPTION: name_hooks("shop", second)}) is second
    assert hooks_of({}) is hooks
    del first
    gc.collect()
    assert hooks_of(options) is hooks
