"""Mistakes in the verbs of a site, each of which some histories must tell."""

from __future__ import annotations

from typing import NamedTuple


class Mistake(NamedTuple):
    """A text of a module, and what stands in its place."""

    module: str
    right: str
    wrong: str


MISTAKES = {
    "If-Match is not compared": Mistake(
        "tasksapp.api.jobs.changing", "check_match(request, job_etag(job))\n", "job_etag(job)\n"
    ),
    "a version is not compared": Mistake("tasksapp.jobs.verbs", "if version is not None and", "if version is ... and"),
    "a cancel takes a running job": Mistake(
        "tasksapp.jobs.verbs", "if job.status != source:", 'if job.status != source and verb != "cancel":'
    ),
    "a verb does not lock its row": Mistake(
        "tasksapp.jobs.verbs", 'jobs.select_for_update(no_key=True, of=("self",)).filter', "jobs.filter"
    ),
    "a change leaves the version": Mistake("tasksapp.jobs.editing", '"version": job.version + 1, ', ""),
    "a resolve cancels nothing": Mistake(
        "tasksapp.jobs.resolving", "while batch := self._cancel_batch():", "while batch := []:"
    ),
    "a resolve does not say what runs": Mistake(
        "tasksapp.jobs.resolving", "outcome.running = list(", "outcome.running = []; list("
    ),
    "a redrive does not look for a resolve": Mistake("tasksapp.jobs.verbs", "if verb is Verb.REDRIVE:", "if False:"),
    "another request with a key is answered": Mistake(
        "tasksapp.jobs.creation", "if holder.request_hash != hashes[request.row.id]:", "if False:"
    ),
}
