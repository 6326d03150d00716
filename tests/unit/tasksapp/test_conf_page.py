"""docs/reference/settings.md says what the code says."""

import inspect
import re
from dataclasses import fields

from delayhub.secrecy import Secrecy
from tasksapp.conf import Options, limits_of, secrecy_of
from tests.repository import ROOT

#: What the page says that others may see of an option.
_SHOWN = {None: "", Secrecy.OPEN: "", Secrecy.HOST: "its host", Secrecy.SECRET: "no"}
PAGE = ROOT / "docs/reference/settings.md"


def options_table() -> str:
    """Every option of the ``DELAYHUB`` dict: name, default, bounds and meaning, from the dataclass itself."""
    told = re.sub(r"\n {6,}", " ", inspect.getdoc(Options) or "")  # a meaning may go on in the next line
    meanings = dict(re.findall(r"^    (\w+): (.*)$", told, flags=re.MULTILINE))
    rows = ["| option | default | from … to | shown | what it is |", "|---|---|---|---|---|"]
    for field in fields(Options):
        least_most = limits_of(field.name)
        bounds = "" if least_most is None else f"{least_most.least:g} … {least_most.most:.10g}"
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        shown = _SHOWN[secrecy_of(field.name)]
        rows.append(f"| `{field.name.upper()}` | `{default!r}` | {bounds} | {shown} | {meanings[field.name]} |")
    return "\n".join(rows)


def test_the_page_has_every_option_with_its_default_bounds_and_meaning() -> None:
    assert options_table() in PAGE.read_text(), f"docs/reference/settings.md should show:\n{options_table()}"


def test_the_page_has_every_variable_that_the_ready_made_project_reads_and_no_other() -> None:
    source = (ROOT / "delayhub/project/settings.py").read_text()
    read = {f"DELAYHUB_{name}" for name in re.findall(r"env\.\w+\(\s*\"(\w+)\"", source)}

    listed = set(re.findall(r"^\| `(DELAYHUB_\w+)` \|", PAGE.read_text(), flags=re.MULTILINE))

    assert listed == read
