"""The pages that the ``type`` of a problem document leads to, for people. They need no key and no login.

As the docs page, they need nothing of the project's settings, and all addresses in them are relative.
"""

from __future__ import annotations

from http import HTTPStatus

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from tasksapp.api.http.problem_types import PROBLEM_TYPES, ProblemType

MAX_AGE_SECONDS = 300

_PAGE = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>{title} · DelayHub API</title>
    <link rel="icon" href="../docs/favicon-32x32.png">
    <link rel="stylesheet" href="../docs/problems.css">
  </head>
  <body>
    <main>
{content}
    </main>
  </body>
</html>
"""
_KIND = """      <nav><a href="./">All problems</a> · <a href="../docs/">API</a></nav>
      <p class="status">{status} {phrase}</p>
      <h1>{title}</h1>
      <p class="code"><code>{code}</code></p>
      <h2>What it means</h2>
      <p>{meaning}</p>
      <h2>What to do</h2>
      <p>{advice}</p>"""
_LIST = """      <nav><a href="../docs/">API</a></nav>
      <h1>Problems</h1>
      <p>A request that the API refuses is answered with a problem document (RFC 9457). Its <code>type</code> is the
      address of one of these pages, its <code>code</code> is the name below.</p>
      <table>
        <thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead>
        <tbody>
{rows}
        </tbody>
      </table>"""
_ROW = '          <tr><td>{}</td><td><a href="{}"><code>{}</code></a></td><td>{}</td></tr>'
_UNKNOWN = """      <nav><a href="{every}">All problems</a></nav>
      <h1>No such problem</h1>
      <p>The API has no problem of that name.</p>"""


@csrf_exempt
@login_not_required
@require_safe
def problem_page(request: HttpRequest, code: str = "") -> HttpResponse:
    """The page about one kind of problem, or the list of all."""
    del request
    if not code:
        return _page("Problems", _list())
    kind = PROBLEM_TYPES.get(code)
    if kind is None:
        return _page("No such problem", format_html(_UNKNOWN, every="./"), status=404)
    return _page(kind.title, _about(kind))


def _about(kind: ProblemType) -> str:
    return format_html(_KIND, **kind._asdict(), phrase=HTTPStatus(kind.status).phrase)


def _list() -> str:
    kinds = sorted(PROBLEM_TYPES.values(), key=lambda kind: (kind.status, kind.code))
    shown = ((kind.status, kind.code, _breakable(kind.code), kind.title) for kind in kinds)
    rows = format_html_join("\n", _ROW, shown)
    return format_html(_LIST, rows=rows)


def _breakable(code: str) -> str:
    """The code, which a narrow page may break behind its underscores."""
    return format_html_join("", "{}<wbr>", ((part,) for part in code.replace("_", "_ ").split()))


def _page(title: str, content: str, *, status: int = 200) -> HttpResponse:
    headers = {"Cache-Control": f"max-age={MAX_AGE_SECONDS}"}
    return HttpResponse(format_html(_PAGE, title=title, content=content), status=status, headers=headers)
