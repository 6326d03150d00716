"""The TypeScript client: its types are those of the API's document, and its pages' examples do what they say.

Its rules are tested by the tests of the Python client, which run over it too (``tests.typescript_client``).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import delayhub
from delayhub.demo.site import Site
from tests.repository import ROOT
from tests.typescript_client import NODE, PACKAGE, packages
from tests.typescript_types import API, made

TSC = PACKAGE / "node_modules" / "typescript" / "bin" / "tsc"
README = (PACKAGE / "README.md").read_text()
PAGE = (ROOT / "docs/reference/typescript.md").read_text()
EXAMPLES = re.findall(r"^```ts\n(.*?)^```$", README + PAGE, re.MULTILINE | re.DOTALL)


def run(*command: str | Path, folder: Path, **variables: str) -> str:
    """What a program prints, once it has ended well."""
    ran = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.check
def test_its_types_are_as_make_client_makes_them() -> None:
    assert API.read_text() == made(), "run: make client"


def test_its_version_and_its_licence_are_those_of_the_site_and_all_packages_are_named_exactly() -> None:
    package = json.loads((PACKAGE / "package.json").read_text())
    versions = [*package["dependencies"].values(), *package["devDependencies"].values()]

    assert package["version"] == delayhub.__version__
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()  # npm packs what stands beside it
    assert f'VERSION = "{delayhub.__version__}"' in (PACKAGE / "src" / "options.ts").read_text()
    assert [version for version in versions if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []


def test_the_tests_of_what_is_its_own_pass() -> None:
    packages()

    said = run(NODE, "--test", folder=PACKAGE)

    assert int(re.findall(r"^\S+ pass (\d+)$", said, re.MULTILINE)[0]) >= 15


@pytest.mark.slow
def test_each_example_of_its_pages_is_typed_as_strictly_as_can_be_and_runs(lasting_site: Site, tmp_path: Path) -> None:
    as_installed(tmp_path, exports="./src/index.ts")
    (tmp_path / "node_modules" / "delayhub-client" / "src").symlink_to(PACKAGE / "src")
    names = [f"example{number}.ts" for number in range(len(EXAMPLES))]
    for name, text in zip(names, EXAMPLES, strict=True):
        # What of Node an example uses: its types are another package.
        (tmp_path / name).write_text(f"declare const process: any;\n{text}")
    options = json.loads((PACKAGE / "tsconfig.json").read_text())["compilerOptions"]
    options |= {"rootDir": "/", "noEmit": True}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": names}))

    run(NODE, TSC, folder=tmp_path)
    said = [run(NODE, name, folder=tmp_path, **keys_of(lasting_site)) for name in names]

    assert len(said) == 4
    assert re.fullmatch(r"job \S+ is due at \S+\nit has succeeded\n", said[0])
    assert "succeeded" in said[2]


@pytest.mark.nightly
def test_the_package_that_is_built_does_the_same(lasting_site: Site, tmp_path: Path) -> None:
    exports = json.loads((PACKAGE / "package.json").read_text())["exports"]
    as_installed(tmp_path, exports=exports)
    (tmp_path / "example.ts").write_text(EXAMPLES[0])

    run(NODE, TSC, "--outDir", tmp_path / "node_modules" / "delayhub-client" / "dist", folder=PACKAGE)
    run(NODE, TSC, "--strict", "--noEmit", "--module", "NodeNext", "--target", "ES2022", "example.ts", folder=tmp_path)

    assert "it has succeeded" in run(NODE, "example.ts", folder=tmp_path, **keys_of(lasting_site))


def as_installed(project: Path, *, exports: object) -> None:
    """Gives a project the client among its packages, but for what the client exports."""
    folder = project / "node_modules" / "delayhub-client"
    folder.mkdir(parents=True)
    (project / "package.json").write_text('{"type": "module"}')
    (folder / "package.json").write_text(json.dumps({"name": folder.name, "type": "module", "exports": exports}))
    for name in ("openapi-fetch", "openapi-typescript-helpers"):
        (project / "node_modules" / name).symlink_to(packages() / name)


def keys_of(site: Site) -> dict[str, str]:
    return {"DELAYHUB_URL": site.url, "DELAYHUB_API_KEY": site.api_key}
