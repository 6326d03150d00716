"""Results as tables and JSON."""

from __future__ import annotations

import json

import pytest

from delayhub.cli.job_display import JOB_COLUMNS, job_details, job_row
from delayhub.cli.output import Output, jobs_in_words
from tests.client_models import job_document, job_like


def test_a_list_is_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    found = [job_like(biz_id="order-1", attempts=1234), job_like(biz_id="order-2", status="dead", last_error="x" * 99)]

    shown = Output(as_json=False).several(found, JOB_COLUMNS, job_row)

    lines = capsys.readouterr().out.splitlines()
    assert shown == 2
    assert [line.split()[2] for line in lines[1:]] == ["order-1", "order-2"]
    assert "1,234" in lines[1]
    assert "x…" in lines[2]


def test_a_list_is_a_line_of_json_each_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).several([job_like(), job_like()], JOB_COLUMNS, job_row)

    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [job_document()] * 2


def test_no_more_is_fetched_than_is_shown_and_it_says_that_there_is_more(capsys: pytest.CaptureFixture[str]) -> None:
    endless = iter(job_like, None)

    Output(as_json=False).several(endless, JOB_COLUMNS, job_row, most=3)

    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 4
    assert "The first 3 are shown" in captured.err


def test_what_a_stranger_sent_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    job = job_like(biz_id="\x1b[2Jgone [red]markup[/red]")

    Output(as_json=False).one(job, job_details(job))

    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "[red]markup[/red]" in out


def test_an_empty_list_is_said_to_be_empty_and_is_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=False).several([], JOB_COLUMNS, job_row, none="No job matches.")
    Output(as_json=True).several([], JOB_COLUMNS, job_row)

    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "No job matches.\n")


@pytest.mark.parametrize(("count", "said"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (1_234, "1,234 jobs")])
def test_a_number_of_jobs_is_said_as_people_say_it(count: int, said: str) -> None:
    assert jobs_in_words(count) == said
