"""kombu knows our schemes after ``import delayhub``, in whichever order the two are imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

RESOLVE = "print(kombu.Connection('delayhub://').get_transport_cls().__module__)"


def printed(code: str) -> str:
    """What a new Python process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "imports",
    [
        "import kombu, kombu.transport, delayhub",
        # kombu is imported lazily, long after
        "import delayhub, kombu",
        "import kombu, delayhub",
        "import delayhub, celery, kombu",
    ],
)
def test_the_order_of_imports_does_not_matter(imports: str) -> None:
    assert printed(f"{imports}; {RESOLVE}") == "delayhub.transport.transport"


def test_nothing_stays_behind_once_the_schemes_are_known() -> None:
    kinds = "[type(finder).__name__ for finder in sys.meta_path]"

    seen = printed(f"import sys, delayhub; print({kinds}[0]); import kombu.transport; print({kinds})").splitlines()

    assert seen[0] == "AwaitedImport"
    assert "AwaitedImport" not in seen[1]


def test_kombu_is_not_imported_for_it() -> None:
    assert printed("import sys, delayhub, delayhub.engine; print('kombu' in sys.modules)") == "False"


def test_an_import_of_kombu_that_fails_says_why() -> None:
    hidden = "import sys, delayhub; sys.modules['kombu'] = None"

    assert "kombu" in printed(
        f"{hidden}\ntry:\n    import kombu.transport\nexcept ImportError as error:\n    print(error)"
    )
