from __future__ import annotations

import random

import pytest

from benchmarks.distribution import Distribution, Mode


def latenesses(count: int, *, seed: int) -> list[float]:
    """Times as those of tasks are: most below a millisecond, and a long tail."""
    chance = random.Random(seed)
    return [0.3 + chance.lognormvariate(-0.7, 0.6) for _ in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_a_hill_with_a_long_tail_is_one_mode(seed: int) -> None:
    found = Distribution(latenesses(5000, seed=seed)).modes()

    assert len(found) == 1
    assert found[0].at_ms < 1.5
    assert found[0].share == 1


@pytest.mark.parametrize("seed", range(20))
def test_one_in_a_hundred_at_ten_milliseconds_is_a_mode_of_its_own(seed: int) -> None:
    chance = random.Random(seed)
    missed = [chance.uniform(10, 11.5) for _ in range(50)]

    first, second = Distribution(latenesses(4950, seed=seed) + missed).modes()

    assert first.at_ms < 1.5
    assert 9.5 <= second.at_ms <= 12
    assert second.share == pytest.approx(0.01, abs=0.004)


def test_the_highest_mode_may_be_the_last() -> None:
    late = [time + 10 for time in latenesses(3000, seed=1)]

    found = Distribution(latenesses(2000, seed=2) + late).modes()

    assert [round(mode.share, 1) for mode in found] == [0.4, 0.6]


def test_a_pause_of_the_machine_is_no_mode() -> None:
    paused = [30.0 - n * 0.5 for n in range(60)]  # one task each half millisecond waits for the end of a pause of 30 ms

    assert len(Distribution(latenesses(5000, seed=3) + paused).modes()) == 1


def test_a_few_times_say_nothing_about_modes() -> None:
    with pytest.raises(ValueError, match="3 times are too few"):
        Distribution([1.0, 2.0, 3.0]).modes()


def test_the_figures_name_the_tail() -> None:
    found = Distribution([n / 100 for n in range(100_000)]).figures()

    assert found == {"p50": 500.0, "p90": 900.0, "p99": 990.0, "p99.9": 999.0, "worst": 999.99}


def test_the_sketch_shows_each_bin_and_never_loses_a_small_one() -> None:
    sketch = Distribution([0.2] * 990 + [2.2] * 10).sketch().splitlines()

    assert [line.split()[:3] for line in sketch] == [
        ["0.0", "ms", "990"],
        ["0.5", "ms", "0"],
        ["1.0", "ms", "0"],
        ["1.5", "ms", "0"],
        ["2.0", "ms", "10"],
    ]
    assert sketch[1].count("#") == 0
    assert sketch[4].count("#") > 0


def test_a_mode_says_where_it_is_and_how_much_it_holds() -> None:
    assert str(Mode(at_ms=10.25, share=0.013)) == "10.25 ms (1.3% of all)"
