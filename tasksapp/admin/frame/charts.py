"""Charts as SVG from the server: no script, no style in the page, and each with its numbers in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.admin.frame.fragments import DASH, named, number

#: The height of the drawing in its own units; the style sheet says how tall it is on the page.
HEIGHT = 100
#: A bar that is not nothing is at least so tall: one dead job among a million is seen.
LEAST = 1.5
_NUMBER = '<td class="delayhub-number">{}</td>'
_HEADING, _NOTED = '<th scope="col" class="delayhub-number">{}</th>', '<th scope="col">{}</th>'


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """The values of one thing, one for each label of the chart.

    Args:
        name: what they are, for people.
        kind: the colour, a kind that the style sheet has: ``done``, ``failed``, ``late``, ``coming``.
        values: the values; None where there is none.
        shown: how a value is written.
    """

    name: str
    kind: str
    values: Sequence[float | None]
    shown: Callable[[int], str] = number


def chart(
    labels: Sequence[str],
    *,
    name: str,
    bars: Sequence[Series] = (),
    lines: Sequence[Series] = (),
    caption: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> SafeString:
    """A chart: bars that are stacked on each other, lines above them on a scale of their own, and the numbers.

    Args:
        labels: what each column stands for, such as ``14:00``.
        name: what the chart shows, for people who do not see it.
        bars: what the columns are made of, from the bottom up.
        lines: what the lines show; each has a scale of its own, and the legend names its greatest value.
        caption: what stands below the drawing, from left to right; the first and the last label if empty.
        notes: what else is to be said of each column, '' for nothing.
    """
    shown = [*bars, *lines]
    texts = [[_shown(series, column) for series in shown] for column in range(len(labels))]
    below = caption or [*labels[:1], *labels[-1:]]
    return SafeString(
        f'<figure class="delayhub-chart"><div class="delayhub-legend">{_legend(bars, lines)}</div>'
        f'<svg viewBox="0 0 {max(len(labels), 1) * 10} {HEIGHT}" preserveAspectRatio="none" role="img"'
        f' aria-label="{escape(name)}" focusable="false">{_bars(bars)}{"".join(map(_line, lines))}'
        f"{_titles(labels, shown, texts, notes=notes)}</svg>"
        f'<div class="delayhub-axis" aria-hidden="true">{_each("<span>{}</span>", below)}</div>'
        f"{_numbers(labels, shown, texts, name=name, notes=notes)}</figure>"
    )


def _each(form: str, texts: Iterable[str]) -> str:
    """The texts, escaped, each in that form.

    Charts have thousands of them: ``format_html`` takes 10 µs for each, and this takes 1 µs.
    """
    return "".join(form.format(escape(text)) for text in texts)


def _bars(stack: Sequence[Series]) -> str:
    columns = list(zip(*(series.values for series in stack), strict=True))
    greatest = max((sum(value or 0 for value in values) for values in columns), default=0)
    if not greatest:
        return ""
    drawn = []
    for column, values in enumerate(columns):
        foot = float(HEIGHT)
        for series, value in zip(stack, values, strict=True):
            if value:
                tall = max(value / greatest * HEIGHT, LEAST)
                foot -= tall
                drawn.append(
                    f'<rect class="delayhub-fill-{series.kind}" x="{column * 10 + 1}" y="{max(foot, 0):.1f}" width="8"'
                    f' height="{tall:.1f}"/>'
                )
    return "".join(drawn)


def _line(series: Series) -> str:
    greatest = max((value for value in series.values if value is not None), default=0)
    parts: list[list[str]] = [[]]
    for column, value in enumerate(series.values):
        if value is None:
            parts.append([])
        else:
            y = HEIGHT - 2 - value / greatest * (HEIGHT - 4) if greatest else HEIGHT - 2
            parts[-1].append(f"{column * 10 + 5},{y:.1f}")
    # One point makes no line: it is drawn as wide as its column.
    drawn = [part if len(part) > 1 else [_moved(part[0], -4), _moved(part[0], 4)] for part in parts if part]
    return "".join(
        f'<polyline class="delayhub-stroke-{series.kind}" vector-effect="non-scaling-stroke"'
        f' points="{" ".join(part)}"/>'
        for part in drawn
    )


def _moved(point: str, by: int) -> str:
    x, _comma, y = point.partition(",")
    return f"{int(x) + by},{y}"


def _titles(labels: Sequence[str], shown: Sequence[Series], texts: Sequence[list[str]], *, notes: Sequence[str]) -> str:
    """A rectangle for each column that cannot be seen, with what the browser shows to a person who points at it."""
    names = [series.name for series in shown]
    titles = (
        "\n".join(
            [
                label,
                *map(named, names, texts[column]),
                *notes[column : column + 1],
            ]
        )
        for column, label in enumerate(labels)
    )
    return "".join(
        f'<rect class="delayhub-hit" x="{column * 10}" y="0" width="10" height="{HEIGHT}">'
        f"<title>{escape(title)}</title></rect>"
        for column, title in enumerate(titles)
    )


def _legend(bars: Sequence[Series], lines: Sequence[Series]) -> str:
    named = [(series.kind, "bar", series.name) for series in bars]
    for series in lines:
        greatest = max((value for value in series.values if value is not None), default=None)
        text = series.name
        if greatest is not None:
            text = _("%(name)s, at most %(value)s") % {"name": series.name, "value": series.shown(round(greatest))}
        named.append((series.kind, "line", text))
    return "".join(
        f'<span class="delayhub-key delayhub-key-{kind} delayhub-key-{form}">{escape(text)}</span>'
        for kind, form, text in named
    )


def _numbers(
    labels: Sequence[str], shown: Sequence[Series], texts: Sequence[list[str]], *, name: str, notes: Sequence[str]
) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th>{_each(_NUMBER, texts[column])}'
        f"{_each('<td>{}</td>', notes[column : column + 1])}</tr>"
        for column, label in enumerate(labels)
        # Hundreds of empty rows say nothing.
        if any(one.values[column] for one in shown)
    )
    named, noted = escape(name), [_("biz type")] if notes else []
    opened, time = escape(_("As numbers")), escape(_("time"))
    return (
        f'<details class="delayhub-numbers"><summary>{opened}</summary>'
        f'<div class="delayhub-scroll" role="region" aria-label="{named}" tabindex="0">'
        f'<table class="delayhub-plain"><caption class="visually-hidden">{named}</caption>'
        f'<thead><tr><th scope="col">{time}</th>'
        f"{_each(_HEADING, (one.name for one in shown))}{_each(_NOTED, noted)}"
        f"</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _shown(series: Series, column: int) -> str:
    value = series.values[column]
    return DASH if value is None else series.shown(round(value))
