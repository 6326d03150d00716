"""The code answers as the models do, in orders that SPIN draws; a model that says anything else is found out."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count

import pytest

from proof.broken import Broken
from proof.messages.mutants import MUTANTS
from proof.model.checking import ROOM
from proof.model.rows import Rows
from proof.model.traces import Event, Player, replay, traces
from proof.virtual_time import virtual_time
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import Job, Transition
from tests.property_sizes import examples

NewPlayer = Callable[[str], Player]

#: Events of each model that are played while people wait; ``make simulate`` plays 20 times as many.
EVENTS = 170


def events_of(model: str) -> set[str]:
    """The names of all events that a model tells of."""
    return set(re.findall(r"TELL\((\w+), (?!who)", (ROOM / f"{model}.pml").read_text()))


@pytest.mark.parametrize("model", ["handover", "lease", "resolve"])
def test_the_code_answers_as_the_model_does(new_player: NewPlayer, model: str) -> None:
    played, met = 0, set[str]()
    for trace in traces(model, count(1)):
        played += replay(trace, new_player(model))
        met |= {event.what for event in trace}
        if played >= examples(EVENTS) and met == events_of(model):
            break
        assert played < examples(EVENTS) + 1000, f"never met: {events_of(model) - met}"

    assert played >= examples(EVENTS)


@pytest.mark.parametrize("model", ["handover", "lease", "resolve"])
def test_one_altered_answer_is_found(new_player: NewPlayer, model: str) -> None:
    trace = next(trace for trace in traces(model, count(1)) if len(trace) > 6)
    what, who, (answer, *state) = trace[-1]
    altered = Event(what, who, (str(int(answer) + 1), *state))

    with pytest.raises(Broken, match="and the model otherwise"):
        replay([*trace[:-1], altered], new_player(model))


def test_one_altered_state_is_found(new_player: NewPlayer) -> None:
    trace = next(trace for trace in traces("handover", count(1)) if len(trace) > 6)
    what, who, (answer, row, timer) = trace[2]
    altered = Event(what, who, (answer, row, "leased" if timer == "waits" else "waits"))

    with pytest.raises(Broken, match="and the model otherwise"):
        replay([*trace[:2], altered], new_player("handover"))


@pytest.mark.heals  # what the mistakes leave behind
@pytest.mark.parametrize("name", ["a late acknowledgement frees what another holds", "a lost lease is not noted"])
def test_a_mistake_in_the_scripts_is_found(new_player: NewPlayer, name: str) -> None:
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == name]

    with virtual_time(mutant.change), pytest.raises(Broken):
        for trace in traces("lease", range(100)):
            replay(trace, new_player("lease"))


@pytest.mark.sqlite_only  # PostgreSQL's claim looks for it in its own statement
def test_a_claim_that_looks_for_no_tombstone_is_found(new_player: NewPlayer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasksapp.jobs.claim_ends.resolved_ids", lambda *_, **__: set())

    with pytest.raises(Broken, match="claims"):
        for trace in traces("resolve", range(100)):
            replay(trace, new_player("resolve"))


def test_a_lost_worker_whose_row_stays_is_found(new_player: NewPlayer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasksapp.maintenance.lost_leases.return_lost_leases", lambda **_: [])

    with pytest.raises(Broken, match="returns_lost"):
        for trace in traces("handover", range(100)):
            replay(trace, new_player("handover"))


def test_an_outcome_that_is_not_guarded_by_its_lease_is_found(
    new_player: NewPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that lost its lease writes while another runs the job, and is believed."""
    finish = Rows.finish

    def with_the_rows_token(self: Rows, job: RunningJob, transition: Transition) -> int:
        row = Job.objects.get(id=job.id)
        return finish(self, job if row.lease_token is None else RunningJob.of(row, token=row.lease_token), transition)

    monkeypatch.setattr(Rows, "finish", with_the_rows_token)

    with pytest.raises(Broken, match="and the model otherwise") as broken:
        for trace in traces("handover", range(1, 300)):
            replay(trace, new_player("handover"))

    last = str(broken.value).splitlines()[-1]
    assert ": 0 running " in last, "the model refuses it, and leaves the row to the other"
