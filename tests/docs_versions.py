"""The site of each version in a folder of its own, with what a page needs to offer the others: ``make docs INTO=…``.

``make docs`` builds the site of one commit, in var/site. This adds it to a folder that has those of other versions::

    0.1/  0.2/      the newest release of each minor version
    next/           what is on main, and in no release yet
    latest/         the newest release; before there is one, what is on main
    versions.json   which there are: pages read it to show a menu, and nothing where it is not
    index.html      leads to latest/; 404.html, llms.txt and sitemap.xml are those of latest/

All of it is plain files, which any web server can serve. With ``--branch`` the folder is a work tree of that branch,
which is fetched before and pushed after, so that no version is built twice. It needs nothing but Python and Git.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

NEXT = "next"
LATEST = "latest"
#: What stands in the root too, where search engines, programs that read, and wrong addresses end up.
OF_ROOT = ("404.html", "llms.txt", "sitemap.xml")
INDEX = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>DelayHub</title>
<meta http-equiv="refresh" content="0; url=latest/">
<a href="latest/">DelayHub: the pages of the newest release</a>
"""
AUTHOR = ("-c", "user.name=DelayHub's site", "-c", "user.email=site@delayhub.invalid")


class NotAdded(Exception):
    """Why a site is not added."""


def add(site: Path, into: Path, *, tag: str | None) -> str:
    """Adds a site that was built to those of other versions; gives back the name of its folder.

    Args:
        site: what ``make docs`` has made.
        into: the folder of all versions; it may be empty, or not be there.
        tag: of the release, as ``v0.1.0``; None for what is in none yet.

    Raises:
        NotAdded: the tag is none of a release, or a later release of its minor version is there.
    """
    folder, title = named(tag)
    titles = titles_in(into)
    if folder != NEXT and folder in titles and numbers(titles[folder]) > numbers(title):
        raise NotAdded(f"{titles[folder]} is in {folder}/ already, and is newer than {title}")
    _copy(site, into / folder)
    titles[folder] = title
    releases = sorted((name for name in titles if name != NEXT), key=numbers, reverse=True)
    newest = next(iter(releases), NEXT)
    if folder == newest:
        _copy(site, into / LATEST)
        for name in OF_ROOT:
            shutil.copyfile(site / name, into / name)
    shown = [
        {"version": name, "title": titles[name], "aliases": [LATEST] if name == newest else []}
        for name in (*releases, *({NEXT} & set(titles)))
    ]
    (into / "versions.json").write_text(json.dumps(shown, indent=1) + "\n")
    (into / "index.html").write_text(INDEX)
    return folder


def named(tag: str | None) -> tuple[str, str]:
    """The folder of a version, and what people read in the menu."""
    if tag is None:
        return NEXT, "next, not released"
    found = re.fullmatch(r"v((\d+\.\d+)\.\d+)", tag)
    if found is None:
        raise NotAdded(f"{tag} is no tag of a release: v0.1.0 would be one")
    return found[2], found[1]


def titles_in(into: Path) -> dict[str, str]:
    """The versions of a folder, by the names of their folders."""
    listed = into / "versions.json"
    return {each["version"]: each["title"] for each in json.loads(listed.read_text())} if listed.exists() else {}


def numbers(version: str) -> tuple[int, ...]:
    """``0.10.1`` as (0, 10, 1), which is later than (0, 9)."""
    return tuple(int(number) for number in version.split("."))


def fetch(branch: str, into: Path) -> None:
    """Makes the folder a work tree of the branch of the repository's origin; of an empty one where there is none."""
    here = Path()
    if into.exists():
        git(here, "worktree", "remove", "--force", str(into))
    if git(here, "ls-remote", "origin", f"refs/heads/{branch}"):
        git(here, "fetch", "--quiet", "--depth", "1", "origin", branch)
        start = git(here, "rev-parse", "FETCH_HEAD")
    else:
        start = git(
            here, *AUTHOR, "commit-tree", "-m", "Begin", git(here, "hash-object", "-t", "tree", "-w", "/dev/null")
        )
    git(here, "worktree", "add", "--quiet", "--detach", str(into), start)


def push(branch: str, into: Path, *, folder: str) -> None:
    """Commits the folder and pushes it, unless nothing has changed."""
    git(into, "add", "--all", "--force")
    if git(into, "status", "--porcelain"):
        git(into, *AUTHOR, "commit", "--quiet", "--message", f"Add the pages of {folder}")
        git(into, "push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")


def git(folder: Path, *words: str) -> str:
    """What Git prints; it must succeed."""
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise NotAdded(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def _copy(site: Path, into: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(site, into)


def main(words: Sequence[str] | None = None) -> int:
    """Adds what was built; gives 1 where it cannot."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs_versions", description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="what make docs has built")
    parser.add_argument("into", type=Path, help="the folder of all versions")
    parser.add_argument("--tag", default="", help="of the release; without it the site is that of the next one")
    parser.add_argument("--branch", default="", help="where the folder is kept in the repository's origin")
    given = parser.parse_args(words)
    try:
        if given.branch:
            fetch(given.branch, given.into)
        folder = add(given.site, given.into, tag=given.tag or None)
        if given.branch:
            push(given.branch, given.into, folder=folder)
    except NotAdded as error:
        sys.stderr.write(f"not added: {error}\n")
        return 1
    others = [name for name in titles_in(given.into) if name != folder]
    sys.stdout.write(f"{given.into / folder} is there, beside {', '.join(others) or 'no other'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
