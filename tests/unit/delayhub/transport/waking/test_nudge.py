"""A nudge makes its descriptor readable, from any thread and only once until it is taken."""

import os
import select
import threading
from collections.abc import Iterator

import pytest

from delayhub.transport.waking.nudge import Nudge


def is_readable(nudge: Nudge, seconds: float = 0.0) -> bool:
    return bool(select.select([nudge.fileno()], [], [], seconds)[0])


@pytest.fixture(params=["eventfd", "pipe"])
def nudge(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nudge]:
    """Also as it is outside Linux, where there are only pipes."""
    if request.param == "pipe":
        monkeypatch.delattr(os, "eventfd")
    made = Nudge()
    yield made
    made.close()


def test_given_twice_it_is_taken_once(nudge: Nudge) -> None:
    assert not is_readable(nudge)

    nudge.give()
    nudge.give()

    assert is_readable(nudge)
    nudge.take()
    assert not is_readable(nudge)


def test_it_can_be_given_again_after_it_was_taken(nudge: Nudge) -> None:
    for _ in range(3):
        nudge.give()
        assert is_readable(nudge)
        nudge.take()

    assert not is_readable(nudge)


def test_taking_what_was_not_given_does_not_wait(nudge: Nudge) -> None:
    nudge.take()

    assert not is_readable(nudge)


def test_none_is_lost_between_threads(nudge: Nudge) -> None:
    news: list[int] = []
    seen = 0

    def give() -> None:
        for number in range(2_000):
            news.append(number)
            nudge.give()

    givers = [threading.Thread(target=give) for _ in range(2)]
    for giver in givers:
        giver.start()
    while seen < 4_000:
        assert is_readable(nudge, 5.0), f"no nudge came for those after {seen} of {len(news)}"
        nudge.take()
        seen = len(news)
    for giver in givers:
        giver.join()


def test_after_close_it_does_not_touch_the_descriptor() -> None:
    nudge = Nudge()
    nudge.close()
    reader, writer = os.pipe()
    try:
        nudge.give()
        nudge.close()

        assert not select.select([reader], [], [], 0)[0]
    finally:
        os.close(reader)
        os.close(writer)
