"""Drawings of docs/images, as SVG, for light and dark: how a task waits, the path of a job, failover, statuses.

They are made of shapes and words only, with fonts of the reader's machine. `make pictures` writes them; a test compares
them with what this module makes, and the statuses with the table of transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape

from tasksapp.models.transition import Status, Transition
from tests.repository import ROOT

IMAGES = ROOT / "docs" / "images"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


#: The colours, in light and in dark: the file asks what the reader's machine prefers.
LOOKS = {
    "paper": ("#ffffff", "#0d1117"),
    "ink": ("#24292f", "#e6edf3"),
    "faint": ("#57606a", "#9aa4af"),
    "line": ("#8c959f", "#6e7681"),
    "box": ("#f3f6f9", "#1b222b"),
    "good": ("#1a7f4b", "#3fb978"),
    "bad": ("#cf222e", "#ff6b63"),
    "warm": ("#417893", "#79b8d6"),
}
PAPER, INK, FAINT, LINE, BOX, GOOD, BAD, WARM = (f"var(--{name})" for name in LOOKS)


def style() -> str:
    """The colours as CSS."""
    light, dark = (";".join(f"--{name}:{both[look]}" for name, both in LOOKS.items()) for look in (0, 1))
    return f"<style>:root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"


@dataclass
class Sheet:
    """A drawing that grows.

    Args:
        width, height: in pixels.
        title: what it shows, for those who do not see it.
    """

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def text(
        self,
        x: float,
        y: float,
        said: str,
        *,
        size: int = 14,
        colour: str = "",
        anchor: str = "start",
        weight: int = 400,
    ) -> None:
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour or INK}" text-anchor="{anchor}"'
            f' font-weight="{weight or 400}">{escape(said)}</text>'
        )

    def bar(self, x: float, y: float, width: float, height: float, *, colour: str, said: str = "") -> None:
        """A bar with words in it."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{colour}" fill-opacity="0.2"'
            f' stroke="{colour}"/>'
        )
        if said:
            self.text(x + width / 2, y + height / 2 + 5, said, anchor="middle")

    def box(self, x: float, y: float, width: float, height: float, title: str, *lines: str, colour: str = "") -> None:
        """A box with a title and lines below it."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" fill="{BOX}"'
            f' stroke="{colour or LINE}"/>'
        )
        top = y + (height - 20 * len(lines)) / 2 + 5
        self.text(x + width / 2, top, title, anchor="middle", weight=600)
        for number, line in enumerate(lines, 1):
            self.text(x + width / 2, top + 20 * number, line, size=13, colour=FAINT, anchor="middle")

    def dot(self, x: float, y: float, *, colour: str) -> None:
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="7" fill="{colour}"/>')

    def cross(self, x: float, y: float, *, colour: str) -> None:
        self.parts.append(f'<path d="M{x - 6:g} {y - 6:g}l12 12m0 -12l-12 12" stroke="{colour}" stroke-width="3"/>')

    def dashed(self, x: float, top: float, bottom: float) -> None:
        self.parts.append(f'<path d="M{x:g} {top:g}V{bottom:g}" stroke="{LINE}" stroke-dasharray="3 4"/>')

    def arrow(self, path: str, *, colour: str = "") -> None:
        """A line with a head at its end; ``path`` is that of SVG."""
        colour = colour or LINE
        head = f"head{len(self.parts)}"
        self.parts.append(
            f'<marker id="{head}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0L10 5L0 10z" fill="{colour}"/></marker>'
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.6" marker-end="url(#{head})"/>'
        )

    def svg(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img"'
            f' font-family="{FONT}"><title>{escape(self.title)}</title>{style()}'
            f'<rect width="{self.width}" height="{self.height}" fill="{PAPER}"/>' + "".join(self.parts) + "</svg>\n"
        )


def timeline() -> Sheet:
    """How a task with a countdown of two hours waits: with kombu's Redis transport, and here."""
    sheet = Sheet(960, 400, "A task with a countdown of two hours: in a worker's memory, and in Redis")
    left, hour = 60, 400
    at = [left + hour * number for number in range(3)]
    for x, said in zip(at, ("sent", "1 h", "2 h: due"), strict=True):
        sheet.dashed(x, 34, 362)
        sheet.text(x, 24, said, size=13, colour=FAINT, anchor="middle")
    sheet.text(left + 12, 62, "redis://  apply_async(countdown=7200)", weight=600)
    sheet.bar(at[0], 76, 2 * hour, 34, colour=BAD, said="waits in the memory of worker A")
    sheet.bar(at[1], 120, hour, 34, colour=BAD, said="and in the memory of worker B")
    sheet.text(at[1] - 12, 142, "visibility timeout: delivered again", size=13, colour=FAINT, anchor="end")
    sheet.dot(at[2], 93, colour=BAD)
    sheet.dot(at[2], 137, colour=BAD)
    sheet.text(at[2] + 14, 120, "runs twice", size=14, colour=BAD, weight=600)
    sheet.text(left + 12, 188, "A worker that is killed takes its share along: it comes back when the timeout ends.",
               size=13, colour=FAINT)  # fmt: skip
    sheet.text(left + 12, 244, "delayhub://  apply_async(countdown=7200)", weight=600)
    sheet.bar(at[0], 258, 2 * hour, 34, colour=GOOD, said="waits in Redis: listed, moved and revoked there")
    sheet.dot(at[2], 275, colour=GOOD)
    sheet.text(at[2] + 14, 280, "runs once", colour=GOOD, weight=600)
    sheet.cross(at[0] + 140, 322, colour=FAINT)
    sheet.text(at[0] + 158, 327, "A worker that is killed has nothing that is not due.", size=13, colour=FAINT)
    sheet.text(left + 12, 384, "Times are kombu's defaults: a visibility timeout of one hour.", size=12, colour=FAINT)
    return sheet


def path_of_a_job() -> Sheet:
    """From the code that makes a job to the receiver that gets it."""
    sheet = Sheet(960, 330, "The path of a job: row, timer, claim, callback or task")
    sheet.box(20, 40, 170, 90, "Your code", "Python, REST,", "admin, client")
    sheet.box(250, 40, 190, 90, "Row", "in the database, with", "your own transaction", colour=GOOD)
    sheet.box(520, 40, 170, 90, "Timer", "in Redis, of jobs due", "within the hour")
    sheet.box(770, 40, 170, 90, "Worker", "claims what is due,", "as limits allow")
    sheet.box(770, 210, 170, 90, "Receiver", "a signed callback, a", "Celery task, or a pull")
    sheet.box(520, 210, 170, 90, "End", "done, again after", "a pause, or dead")
    sheet.arrow("M190 85H248")
    sheet.arrow("M440 85H518")
    sheet.arrow("M690 85H768")
    sheet.arrow("M855 130V208")
    sheet.arrow("M770 255H692")
    sheet.arrow("M520 255H345V132")
    sheet.text(479, 76, "commit", size=12, colour=FAINT, anchor="middle")
    sheet.text(729, 76, "due", size=12, colour=FAINT, anchor="middle")
    sheet.text(432, 246, "one statement", size=12, colour=FAINT, anchor="middle")
    sheet.arrow("M400 40V18H830V38", colour=WARM)
    sheet.text(615, 12, "while Redis is away: from the row", size=12, colour=WARM, anchor="middle")
    sheet.text(20, 212, "The row is what counts.", weight=600)
    sheet.text(20, 234, "Timers can be lost: the loader,", size=13, colour=FAINT)
    sheet.text(20, 253, "in one of the workers, sets them", size=13, colour=FAINT)
    sheet.text(20, 272, "again from the rows.", size=13, colour=FAINT)
    return sheet


def failover() -> Sheet:
    """What ends, and what goes on."""
    sheet = Sheet(960, 330, "What becomes of jobs when a part ends")
    rows = (
        ("a worker is killed", "its callbacks were open", "others take them when its lease ends, 60 s"),
        ("the loader's worker is killed", "nobody sets timers", "another worker takes the seat after 10 s"),
        ("Redis is away", "no timers, no wake-ups", "workers claim rows from the database"),
        ("Redis lost its data", "no timers", "the loader sets them again from the rows"),
        ("the database is away", "nothing is claimed or made", "all of it fires late, when it is back"),
    )
    for x, said in ((20, "what happens"), (300, "then"), (580, "and after that")):
        sheet.text(x, 30, said, size=13, colour=FAINT)
    for number, (what, then, after) in enumerate(rows):
        y = 46 + number * 56
        sheet.bar(20, y, 240, 42, colour=BAD, said=what)
        sheet.bar(300, y, 240, 42, colour=LINE, said=then)
        sheet.bar(580, y, 360, 42, colour=GOOD, said=after)
        sheet.arrow(f"M260 {y + 21}H298")
        sheet.arrow(f"M540 {y + 21}H578")
    return sheet


#: Where the statuses stand on their drawing: column and row.
PLACES = {
    Status.PENDING: (0, 1),
    Status.RUNNING: (1, 1),
    Status.SUCCEEDED: (2, 1),
    Status.CANCELLED: (0, 2),
    Status.SKIPPED: (1, 2),
    Status.DEAD: (1, 0),
    Status.DROPPED: (2, 0),
}
#: How an arrow goes, and where its words stand; of each pair of statuses that the table has.
ARROWS: Mapping[tuple[Status, Status], tuple[str, float, float, str]] = {
    (Status.PENDING, Status.RUNNING): ("M210 184H398", 304, 176, "middle"),
    (Status.PENDING, Status.PENDING): ("M70 160V126H190V158", 48, 116, "start"),
    (Status.PENDING, Status.CANCELLED): ("M60 220V308", 70, 270, "start"),
    (Status.PENDING, Status.SKIPPED): ("M190 220L420 308", 372, 280, "start"),
    (Status.PENDING, Status.DEAD): ("M204 162L398 64", 326, 118, "start"),
    (Status.RUNNING, Status.SUCCEEDED): ("M590 190H758", 674, 182, "middle"),
    (Status.RUNNING, Status.PENDING): ("M400 204H212", 306, 222, "middle"),
    (Status.RUNNING, Status.CANCELLED): ("M412 220L190 308", 246, 304, "start"),
    (Status.RUNNING, Status.DEAD): ("M530 160V72", 540, 120, "start"),
    (Status.RUNNING, Status.SKIPPED): ("M530 220V308", 540, 270, "start"),
    (Status.DEAD, Status.PENDING): ("M400 30H36V158", 218, 22, "middle"),
    (Status.DEAD, Status.DROPPED): ("M590 40H758", 674, 32, "middle"),
}


def verbs_between() -> dict[tuple[Status, Status], list[str]]:
    """The verbs of each change of status that exists, in the table's order, each once."""
    found: dict[tuple[Status, Status], list[str]] = {}
    for change in Transition:
        verbs = found.setdefault((change.source, change.target), [])
        if change.verb not in verbs:
            verbs.append(change.verb)
    return found


def statuses() -> Sheet:
    """The table of transitions."""
    sheet = Sheet(960, 390, "How a job's status changes")
    for status, (column, row) in PLACES.items():
        colour = {Status.SUCCEEDED: GOOD, Status.DEAD: BAD}.get(status, "")
        sheet.box(20 + 360 * column + (20 if column else 0), 10 + 150 * row, 190, 60, str(status.value), colour=colour)
    for pair, verbs in verbs_between().items():
        path, x, y, anchor = ARROWS[pair]
        sheet.arrow(path)
        sheet.text(x, y, ", ".join(verbs), size=13, colour=FAINT, anchor=anchor)
    return sheet


DRAWINGS: Mapping[str, Callable[[], Sheet]] = {
    "timeline": timeline,
    "path": path_of_a_job,
    "failover": failover,
    "statuses": statuses,
}


def drawn() -> dict[str, str]:
    """Each file's text, by its name."""
    return {f"{name}.svg": draw().svg() for name, draw in DRAWINGS.items()}
