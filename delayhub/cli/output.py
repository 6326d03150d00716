"""Results on the standard output, as tables or JSON; notes for people on the standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from delayhub.client.request import plain

#: The width of tables that no person looks at now: in a file or a pipe nothing is cut off.
WIDE = 240
COLOURS: Mapping[str, str] = {
    "succeeded": "green", "done": "green", "ok": "green",
    "running": "cyan", "planning": "cyan",
    "dead": "red", "failed": "red",
    "cancelled": "dim", "dropped": "dim", "skipped": "dim", "stopped": "yellow",
}  # fmt: skip


def jobs_in_words(count: int) -> str:
    """A number of jobs, for people."""
    return "1 job" if count == 1 else f"{count:,} jobs"


@dataclass(frozen=True, slots=True)
class Output:
    """Shows what a command found."""

    as_json: bool

    @property
    def console(self) -> Console:
        """Where results go."""
        return Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)

    @property
    def notes(self) -> Console:
        """Where notes, questions and progress go, so that results can be piped on."""
        return Console(highlight=False, stderr=True)

    def note(self, text: str) -> None:
        """Shows a sentence for people."""
        self.notes.print(Text(text), soft_wrap=True)

    def waiting(self, what: str) -> AbstractContextManager[Any]:
        """Shows people at a terminal that something is waited for, inside its block."""
        return self.notes.status(what) if sys.stderr.isatty() else nullcontext()

    def one(self, model: Any, rows: Sequence[tuple[str, Any]]) -> None:
        """Shows one thing: its names and values in two columns, or the whole of it as JSON."""
        if self.as_json:
            self.json(model)
            return
        self.console.print(self.names_and_values(rows))

    def names_and_values(self, rows: Sequence[tuple[str, Any]]) -> Table:
        """Two columns."""
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in rows:
            table.add_row(name, _cell(value))
        return table

    def several(
        self, models: Iterable[Any], columns: Sequence[str], row: Any, *, most: int = 0, none: str = "none"
    ) -> int:
        """Shows a list: a table, or a line of JSON for each; gives how many there were.

        Args:
            models: what is shown; no more is fetched than is shown, and one.
            columns: the headings.
            row: what makes the cells of one.
            most: how many are shown; 0: all.
            none: the note where there is none.
        """
        each = iter(models)
        shown = islice(each, most) if most else each
        if self.as_json:
            return sum(1 for _ in map(self.json_line, shown))
        first = next(shown, None)
        if first is None:
            self.note(none)
            return 0
        table = self.table(chain([first], shown), columns, row)
        self.console.print(table)
        number = table.row_count
        if most and number == most and next(each, None) is not None:
            self.note(f"The first {most} are shown; there are more: --limit 0 shows all.")
        return number

    def table(self, models: Iterable[Any], columns: Sequence[str], row: Any) -> Table:
        """A row for each; the columns of numbers begin with ``#``."""
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
        for name in columns:
            is_number = name.startswith("#")
            table.add_column(name.removeprefix("#"), justify="right" if is_number else "left", overflow="fold")
        for model in models:
            table.add_row(*map(_cell, row(model)))
        return table

    def json(self, model: Any) -> None:
        """Shows a value as JSON that people can read, too."""
        sys.stdout.write(json.dumps(jsonable(model), indent=2, ensure_ascii=False) + "\n")

    def json_line(self, model: Any) -> None:
        """Shows a value as one line of JSON."""
        sys.stdout.write(json.dumps(jsonable(model), ensure_ascii=False, separators=(",", ":")) + "\n")


def jsonable(model: Any) -> Any:
    """A model, or a list or mapping of them, as JSON has it."""
    if isinstance(model, Mapping):
        return {name: jsonable(value) for name, value in model.items()}
    if isinstance(model, list):
        return [jsonable(value) for value in model]
    return plain(asdict(model) if hasattr(model, "__dataclass_fields__") else model)


def coloured(word: str) -> Text:
    """A status or state in its colour."""
    return Text(word, style=COLOURS.get(word, ""))


def _cell(value: Any) -> Text:
    match value:
        case Text():
            return value
        case None | "":
            return Text("-", style="dim")
        case bool():
            return Text("yes" if value else "no")
        case int():
            return Text(f"{value:,}")
        case float():
            return Text(f"{value:,.4g}" if value < 1000 else f"{value:,.0f}")
    # Control characters of what strangers sent could steer the terminal.
    return Text("".join(sign if sign.isprintable() or sign == "\n" else "�" for sign in str(value)))
