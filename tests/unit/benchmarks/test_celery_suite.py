from __future__ import annotations

from pathlib import Path

from benchmarks.celery_suite import DIFFERENCES, Comparison, outcomes

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
