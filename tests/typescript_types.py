"""Makes the types of the TypeScript client from the API's document: a part of ``make client``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from copy import deepcopy
from pathlib import Path

import django

from tests.typescript_client import NODE, PACKAGE, packages

API = PACKAGE / "src" / "api.ts"
#: Names of schemas are types of their own, and fields with a default may be left out of requests.
OPTIONS = ("--root-types", "--root-types-no-schema-prefix", "--default-non-nullable", "false")


def made() -> str:
    """The module of types. Refusals are left out: the client throws them, and each has the same document."""
    from tasksapp.api.openapi.document import openapi_document, operations_of

    document = deepcopy(openapi_document(prefix="/api"))  # which is kept
    for _, operation in operations_of(document).values():
        operation["responses"] = {status: each for status, each in operation["responses"].items() if status < "400"}
    program = packages() / "openapi-typescript" / "bin" / "cli.js"
    with tempfile.TemporaryDirectory() as folder:
        shown, types = Path(folder) / "openapi.json", Path(folder) / "api.ts"
        shown.write_text(json.dumps(document))
        command = [NODE, program, shown, "--output", types, *OPTIONS]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=100)
        return types.read_text()


if __name__ == "__main__":
    django.setup()
    API.write_text(made())
    sys.stdout.write(f"{API} is made\n")
