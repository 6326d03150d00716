"""The names of the package, which are loaded when they are first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from delayhub import testing


def test_every_name_is_there_and_no_other() -> None:
    assert all(getattr(testing, name) for name in testing.__all__)
    assert set(testing.__all__) <= set(dir(testing))
    with pytest.raises(AttributeError, match="postpone"):
        testing.postpone  # noqa: B018  asked for, to see it refused


def test_the_plug_in_loads_neither_redis_nor_django() -> None:
    # pytest loads it in each run of every project that has DelayHub.
    code = "import delayhub.testing.pytest_plugin, sys; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert not {"redis", "django", "celery", "tasksapp"} & set(loaded.stdout.split())
