"""The site of the pages in docs/: built, with ``llms.txt``, and with each link and anchor followed: ``make docs``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

from tests.reference_pages import write
from tests.repository import ROOT

SITE = ROOT / "var" / "site"
CONFIG = ROOT / "mkdocs.yml"
#: Where the site lies on its server.
BASE = "/delayhub/latest/"
#: The site of the newest release, beside this one where there are several: ``tests/docs_versions.py``.
NEWEST = SITE.parent / "latest"
#: Tags that make a browser fetch what they name, with the attribute that names it.
FETCHES = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}
#: Of ``link``, what a browser does not fetch.
NOT_FETCHED = {"canonical", "prev", "next", "alternate", "edit"}


class SitePage(HTMLParser):
    """What one page of the site names, and what it fetches.

    Args:
        path: the file, below ``SITE``.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif (name := FETCHES.get(tag)) in given and not NOT_FETCHED & set(given.get("rel", "").split()):
            self.fetched.append(given[name])


def build() -> None:
    """Builds the site.

    Raises:
        RuntimeError: a page names another that is not there, or a docstring cannot be read; the message has all of it.
    """
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        raise RuntimeError(re.sub(r"\x1b\[[\d;]*m", "", built.stdout + built.stderr))
    for path in SITE.rglob("*.html"):
        path.write_text(in_both_looks(with_tables_for_all(path.read_text())))
    (SITE / "llms.txt").write_text(llms_txt())


def with_tables_for_all(html: str) -> str:
    """A page whose tables have no header without words, and can be scrolled from the keyboard.

    Markdown makes a header above each column, said or not. A wide table scrolls; a browser moves it by keys once
    something in it has the focus: a link, or the table.
    """
    html = re.sub(r"<thead>\s*<tr>\s*(<th[^>]*></th>\s*)+</tr>\s*</thead>\s*", "", html)
    html = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)
    return re.sub(r"<table>(?=(?:(?!</table>|<a ).)*</table>)", '<table tabindex="0">', html, flags=re.DOTALL)


def in_both_looks(html: str) -> str:
    """A page with the dark picture beside each light one; the theme shows one, a browser fetches one."""
    light = re.compile(r'<img ([^>]*?)src="([^"]*)-light\.png"([^>]*?)/?>')
    return light.sub(
        r'<img loading="lazy" \1src="\2-light.png#only-light"\3><img loading="lazy" \1src="\2-dark.png#only-dark"\3>',
        html,
    )


@cache
def built_pages() -> list[SitePage]:
    """Every page of the site, built and read once in a run."""
    build()
    return [SitePage(path) for path in sorted(SITE.rglob("*.html"))]


def broken_links(built: list[SitePage]) -> list[str]:
    """Links of the site to a file or an anchor of it that is not there."""
    known = {page.path: page for page in built}
    return [
        f"{page.path.relative_to(SITE)}: {link}"
        for page in built
        for link in (*page.links, *page.fetched)
        if not urlsplit(link).scheme and not _leads(page, link, known)
    ]


def _leads(page: SitePage, link: str, known: dict[Path, SitePage]) -> bool:
    parts = urlsplit(link)
    there = page.path
    if parts.path.startswith("/"):  # only on the page that any wrong address gets
        there = SITE / unquote(parts.path).removeprefix(BASE)
    elif parts.path:
        there = (page.path.parent / unquote(parts.path)).resolve()
    if there.resolve() == NEWEST:
        return True
    if there.is_dir():
        there /= "index.html"
    if not there.exists():
        return False
    return not parts.fragment or there not in known or unquote(parts.fragment) in known[there].anchors


def outside_requests(built: list[SitePage]) -> list[str]:
    """What pages make a browser fetch from another server."""
    return [
        f"{page.path.relative_to(SITE)}: {link}" for page in built for link in page.fetched if urlsplit(link).netloc
    ]


def navigation() -> Iterator[tuple[str, str]]:
    """The part of the site and the file below docs/ of each page, in their order."""
    for entry in yaml.safe_load(CONFIG.read_text())["nav"]:
        if isinstance(entry, str):
            yield "", entry
            continue
        [(part, inner)] = entry.items()
        for page in [inner] if isinstance(inner, str) else inner:
            yield part, page if isinstance(page, str) else next(iter(page.values()))


def llms_txt() -> str:
    """The list of pages for programs that read: a heading for each part, a line for each page with what it is about."""
    config = yaml.safe_load(CONFIG.read_text())
    lines, part = [f"# {config['site_name']}", "", f"> {config['site_description']}"], ""
    for named, page in navigation():
        if named != part:
            part = named
            lines += ["", f"## {part}", ""]
        elif not part:
            lines.append("")
        text = (ROOT / "docs" / page).read_text()
        address = re.sub(r"(index|README)?\.md$", "", page).rstrip("/")
        url = config["site_url"] + (f"{address}/" if address else "")
        lines.append(f"- [{title_of(text)}]({url}): {first_sentence_of(text)}")
    return "\n".join(lines) + "\n"


def title_of(text: str) -> str:
    """The heading of a page."""
    title: str = re.findall(r"^# (.+)$", text, re.MULTILINE)[0]
    return title.replace("`", "")


def first_sentence_of(text: str) -> str:
    """What a page says first, without the links."""
    after = text.split("\n", 1)[1]
    paragraph = next(block for block in after.split("\n\n") if re.match(r"\s*[\w*`\"\[]", block))
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split())).replace("*", "")
    return re.split(r"(?<=[.?]) ", plain)[0].rstrip(":")


def main() -> int:
    """Builds and checks; gives 1 where something is wrong."""
    write()
    built = built_pages()
    wrong = broken_links(built) + outside_requests(built)
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    sys.stdout.write(f"{len(built)} pages are in {SITE.relative_to(ROOT)}; open index.html\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
