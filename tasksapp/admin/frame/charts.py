"""Charts as SVG from the server: no script, no style in the page, and each with its numbers in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.admin.frame.fragments import DASH, number

#: The height of the drawing in its own units; the style sheet says how tall it is on the page.
HEIGHT = 100
#: A bar that is not nothing is at least so tall: one dead job among a million is seen.
LEAST = 1.5


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
    columns = max(len(labels), 1)
    below = caption or [*labels[:1], *labels[-1:]]
    return format_html(
        '<figure class="delayhub-chart"><div class="delayhub-legend">{}</div>'
        '<svg viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}" focusable="false">{}{}{}</svg>'
        '<div class="delayhub-axis" aria-hidden="true">{}</div>{}</figure>',
        _legend(bars, lines),
        columns * 10,
        HEIGHT,
        name,
        _bars(bars),
        format_html_join("", "{}", ((_line(series),) for series in lines)),
        _titles(labels, [*bars, *lines], notes=notes),
        format_html_join("", "<span>{}</span>", ((text,) for text in below)),
        _numbers(labels, [*bars, *lines], name=name, notes=notes),
    )


def sparkline(values: Sequence[float | None], *, name: str, kind: str = "late") -> SafeString:
    """A small line without axes, for the row of a table."""
    series = Series(name=name, kind=kind, values=values)
    return format_html(
        '<svg class="delayhub-spark" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img"'
        ' aria-label="{}">{}</svg>',
        max(len(values), 1) * 10,
        HEIGHT,
        name,
        _line(series),
    )


def _bars(stack: Sequence[Series]) -> SafeString:
    columns = list(zip(*(series.values for series in stack), strict=True))
    greatest = max((sum(value or 0 for value in values) for values in columns), default=0)
    if not greatest:
        return SafeString("")
    drawn = []
    for column, values in enumerate(columns):
        foot = float(HEIGHT)
        for series, value in zip(stack, values, strict=True):
            if value:
                tall = max(value / greatest * HEIGHT, LEAST)
                foot -= tall
                drawn.append((series.kind, f"{column * 10 + 1}", f"{max(foot, 0):.1f}", f"{tall:.1f}"))
    return format_html_join("", '<rect class="delayhub-fill-{}" x="{}" y="{}" width="8" height="{}"/>', drawn)


def _line(series: Series) -> SafeString:
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
    return format_html_join(
        "",
        '<polyline class="delayhub-stroke-{}" vector-effect="non-scaling-stroke" points="{}"/>',
        ((series.kind, " ".join(part)) for part in drawn),
    )


def _moved(point: str, by: int) -> str:
    x, _comma, y = point.partition(",")
    return f"{int(x) + by},{y}"


def _titles(labels: Sequence[str], shown: Sequence[Series], *, notes: Sequence[str]) -> SafeString:
    """A rectangle for each column that cannot be seen, with what the browser shows to a person who points at it."""
    return format_html_join(
        "",
        '<rect class="delayhub-hit" x="{}" y="0" width="10" height="{}"><title>{}</title></rect>',
        (
            (
                column * 10,
                HEIGHT,
                "\n".join(
                    [
                        label,
                        *(f"{series.name}: {_shown(series, column)}" for series in shown),
                        *notes[column : column + 1],
                    ]
                ),
            )
            for column, label in enumerate(labels)
        ),
    )


def _legend(bars: Sequence[Series], lines: Sequence[Series]) -> SafeString:
    named = [(series.kind, "bar", series.name) for series in bars]
    for series in lines:
        greatest = max((value for value in series.values if value is not None), default=None)
        text = series.name
        if greatest is not None:
            text = _("%(name)s, at most %(value)s") % {"name": series.name, "value": series.shown(round(greatest))}
        named.append((series.kind, "line", text))
    return format_html_join("", '<span class="delayhub-key delayhub-key-{} delayhub-key-{}">{}</span>', named)


def _numbers(labels: Sequence[str], shown: Sequence[Series], *, name: str, notes: Sequence[str]) -> SafeString:
    rows = (
        (
            label,
            format_html_join("", '<td class="delayhub-number">{}</td>', ((_shown(one, column),) for one in shown)),
            format_html("<td>{}</td>", notes[column]) if notes else "",
        )
        for column, label in enumerate(labels)
        # Hundreds of empty rows say nothing.
        if any(one.values[column] for one in shown)
    )
    return format_html(
        '<details class="delayhub-numbers"><summary>{}</summary><div class="delayhub-scroll" role="region"'
        ' aria-label="{}" tabindex="0"><table class="delayhub-plain"><caption class="visually-hidden">{}</caption>'
        '<thead><tr><th scope="col">{}</th>{}{}</tr></thead><tbody>{}</tbody></table></div></details>',
        _("As numbers"),
        name,
        name,
        _("time"),
        format_html_join("", '<th scope="col" class="delayhub-number">{}</th>', ((one.name,) for one in shown)),
        format_html('<th scope="col">{}</th>', _("biz type")) if notes else "",
        format_html_join("", '<tr><th scope="row">{}</th>{}{}</tr>', rows),
    )


def _shown(series: Series, column: int) -> str:
    value = series.values[column]
    return DASH if value is None else series.shown(round(value))
