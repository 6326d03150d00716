"""An alarm wakes kombu's event loop at its moment, never before."""

import time
from collections.abc import Iterator

import pytest
from kombu.asynchronous import Hub

from delayhub.transport.waking.alarm import Alarm, TimerDescriptor


@pytest.fixture(params=["descriptor", "loop"])
def hub(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A loop, with the system's timer descriptors and without."""
    if request.param == "loop":
        monkeypatch.setattr(TimerDescriptor, "available", False)
    elif not TimerDescriptor.available:
        pytest.fail("this system has no timer descriptors")
    made = Hub()
    yield made
    made.close()


class Rings:
    """When an alarm rang, and the loop that waits for it."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.at: list[float] = []
        self.alarm = Alarm(lambda: self.at.append(time.monotonic()))
        self.alarm.attach(hub)

    def wait(self, count: int) -> None:
        end = time.monotonic() + 60
        while len(self.at) < count:
            assert time.monotonic() < end, "it did not ring"
            self.hub.run_once()


def test_it_rings_at_its_moment(hub: Hub) -> None:
    rings = Rings(hub)
    for number in range(5):
        moment = time.monotonic() + 0.0042
        rings.alarm.set(moment)
        rings.wait(number + 1)
        assert rings.at[-1] >= moment
    rings.alarm.close()


def test_a_later_moment_takes_the_place_of_an_earlier_one(hub: Hub) -> None:
    rings = Rings(hub)
    rings.alarm.set(time.monotonic() + 0.001)
    moment = time.monotonic() + 0.03
    rings.alarm.set(moment)
    rings.wait(1)

    assert rings.at[0] >= moment
    rings.alarm.close()


def test_a_pull_only_makes_it_earlier(hub: Hub) -> None:
    rings = Rings(hub)
    moment = time.monotonic() + 0.02
    rings.alarm.pull(moment)
    rings.alarm.pull(moment + 60)
    rings.wait(1)
    assert rings.at[0] >= moment

    rings.alarm.set(time.monotonic() + 60)
    rings.alarm.pull(time.monotonic() + 0.001)
    rings.wait(2)
    rings.alarm.close()


def test_after_a_pull_it_rings_at_the_moment_that_was_set_too(hub: Hub) -> None:
    rings = Rings(hub)
    pulled = time.monotonic() + 0.01
    moment = pulled + 0.02

    rings.alarm.set(moment)
    rings.alarm.pull(pulled)
    rings.wait(2)

    assert pulled <= rings.at[0]
    assert moment <= rings.at[1]
    rings.alarm.close()


def test_a_moment_that_is_over_rings_at_once(hub: Hub) -> None:
    rings = Rings(hub)
    rings.alarm.set(time.monotonic() - 5)
    rings.wait(1)
    rings.alarm.close()


def test_after_close_it_does_not_ring(hub: Hub) -> None:
    rings = Rings(hub)
    rings.alarm.set(time.monotonic() + 0.001)
    rings.alarm.close()
    heard: list[int] = []
    hub.call_later(0.02, heard.append, 1)
    end = time.monotonic() + 60
    while not heard and time.monotonic() < end:
        hub.run_once()

    assert heard
    assert rings.at == []


@pytest.mark.parametrize("hub", ["descriptor"], indirect=True)  # a timer of the loop that is cancelled does not ring
def test_a_ring_of_an_earlier_moment_leaves_the_one_that_is_set(hub: Hub) -> None:
    rings = Rings(hub)
    soon = time.monotonic() + 0.02
    rings.alarm.set(soon)

    rings.alarm._ring()  # the loop saw the descriptor before it was set to this moment
    rings.alarm.pull(soon + 55)  # as acknowledgements do, which can wait
    rings.wait(1)

    assert soon <= rings.at[0] < soon + 50
    rings.alarm.close()
