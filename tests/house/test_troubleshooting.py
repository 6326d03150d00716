"""The page of errors has each exception of DelayHub, and the texts that it names are those that the code says."""

from __future__ import annotations

import re

from tests.repository import ROOT, python_files, text_of, tree_of

PAGE = (ROOT / "docs/run/troubleshooting.md").read_text()
PARTS = {part.splitlines()[0]: part for part in PAGE.split("\n## ")}
#: Of others: Celery and kombu say it.
ELSEWHERE = ("Error on restarting Gossip", "No such transport: delayhub")


def said_by_the_code() -> str:
    """All texts of the source in one line, with the joints of implicitly joined strings taken out."""
    texts = "".join(map(text_of, python_files("delayhub", "tasksapp")))
    return re.sub(r"[\"']\s*\n\s*f?[\"']", "", texts)


def test_each_exception_has_a_row() -> None:
    errors = {node.name for node in tree_of(ROOT / "delayhub/errors.py").body if hasattr(node, "bases")}

    rows = re.findall(r"^\| `(\w+)` \|", PARTS["Exceptions of DelayHub"], re.MULTILINE)
    assert sorted(rows) == sorted(errors - {"DelayHubError"})


def test_each_text_is_one_that_the_code_says() -> None:
    source = said_by_the_code()
    logged = re.findall(r"^\| `([^`]+)` \|", PARTS["In the log of a worker, or when it starts"], re.MULTILINE)
    raised = re.findall(r"^\| `\w+` \| `([^`]+)`", PARTS["Exceptions of DelayHub"], re.MULTILINE)
    answered = re.findall(r"^\| (?:\d{3} )?`([^`]+)` \|", PARTS["In a browser or from curl"], re.MULTILINE)
    pieces = [piece.strip() for text in (*logged, *raised, *answered) for piece in text.split("…") if piece.strip()]

    assert len(pieces) > 30
    assert [piece for piece in pieces if piece not in source and not piece.startswith(ELSEWHERE)] == []
