"""docs/settings.md says what the code says."""

import inspect
import re
from dataclasses import fields

from tasksapp.conf import _LIMITS, Options
from tests.repository import ROOT

PAGE = ROOT / "docs/settings.md"


def options_table() -> str:
    """Every option of the ``DELAYHUB`` dict: name, default, bounds and meaning, from the dataclass itself."""
    meanings = dict(re.findall(r"^    (\w+): (.*)$", inspect.getdoc(Options) or "", flags=re.MULTILINE))
    rows = ["| option | default | from … to | what it is |", "|---|---|---|---|"]
    for field in fields(Options):
        least_most = _LIMITS.get(field.name)
        bounds = "" if least_most is None else f"{least_most.least:g} … {least_most.most:.10g}"
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        rows.append(f"| `{field.name.upper()}` | `{default!r}` | {bounds} | {meanings[field.name]} |")
    return "\n".join(rows)


def test_the_page_has_every_option_with_its_default_bounds_and_meaning() -> None:
    assert options_table() in PAGE.read_text(), f"docs/settings.md should show:\n{options_table()}"


def test_the_page_has_every_variable_that_the_ready_made_project_reads_and_no_other() -> None:
    source = (ROOT / "delayhub/project/settings.py").read_text()
    read = {f"DELAYHUB_{name}" for name in re.findall(r"env\.(?:text|flag|number|names|choice)\(\s*\"(\w+)\"", source)}

    listed = set(re.findall(r"^\| `(DELAYHUB_\w+)` \|", PAGE.read_text(), flags=re.MULTILINE))

    assert listed == read
