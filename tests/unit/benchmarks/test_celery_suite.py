from __future__ import annotations

from pathlib import Path

from benchmarks.celery_suite import DIFFERENCES, Comparison, node_of, outcomes, repeat_single

REPORT = """<testsuites><testsuite>
  <testcase classname="t.test_tasks" name="test_passes"/>
  <testcase classname="t.test_tasks" name="test_fails"><failure message="no"/></testcase>
  <testcase classname="t.test_tasks" name="test_breaks"><error message="no"/></testcase>
  <testcase classname="t.test_tasks" name="test_left_out"><skipped message="no"/></testcase>
  <testcase classname="t.test_tasks" name="test_of_parts"><failure message="no"/></testcase>
  <testcase classname="t.test_tasks" name="test_of_parts"/>
</testsuite></testsuites>"""


def test_the_outcome_of_each_test_is_read(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)

    assert outcomes(tmp_path / "report.xml") == {
        "t.test_tasks::test_passes": "passed",
        "t.test_tasks::test_fails": "failed",
        "t.test_tasks::test_breaks": "failed",
        "t.test_tasks::test_left_out": "skipped",
        "t.test_tasks::test_of_parts": "failed",
    }


def test_only_what_fails_on_one_side_counts() -> None:
    comparison = Comparison(
        {
            "redis": {"both": "failed", "theirs": "failed", "ours": "passed", "not run": "passed", "fine": "passed"},
            "delayhub": {"both": "failed", "theirs": "passed", "ours": "failed", "fine": "passed"},
        }
    )

    assert comparison.worse() == ["not run", "ours"]


def test_a_documented_difference_is_reported_with_its_reason() -> None:
    test, reason = next(iter(DIFFERENCES.items()))
    comparison = Comparison({"redis": {test: "passed"}, "delayhub": {test: "failed"}})

    assert comparison.worse() == []
    assert f"fails on delayhub://: {test}: {reason}" in comparison.report()


def test_a_single_test_that_is_worse_is_repeated_once_by_its_name() -> None:
    asked: list[tuple[str, str]] = []

    def again(transport: str, test: str) -> dict[str, str]:
        asked.append((transport, test))
        return {test: "passed" if len(asked) == 1 else "failed"}

    theirs, ours = {"race": "passed", "fine": "passed"}, {"race": "failed", "fine": "passed"}
    for still_worse in ([], ["race"]):
        comparison = Comparison({"redis": theirs, "delayhub": dict(ours)})

        assert repeat_single(comparison, again) == "race"
        assert comparison.worse() == still_worse
    assert asked == [("delayhub", "race")] * 2


def test_several_tests_that_are_worse_are_no_race() -> None:
    comparison = Comparison({"redis": dict.fromkeys("ab", "passed"), "delayhub": dict.fromkeys("ab", "failed")})

    assert repeat_single(comparison, lambda transport, test: {test: "passed"}) is None
    assert comparison.worse() == ["a", "b"]


def test_a_test_of_a_report_is_found_in_celerys_folder() -> None:
    found = node_of("t.integration.test_canvas.test_chain::test_order[a.b::c]")

    assert found == "t/integration/test_canvas.py::test_chain::test_order[a.b::c]"
