"""Programs that end when their parent process ends."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from delayhub.local.parent_death import ending_with_parent

SAY_AND_WAIT = [sys.executable, "-c", "import os, signal; print(os.getpid(), flush=True); signal.pause()"]


def test_the_program_gets_its_arguments_and_its_exit_code_is_kept() -> None:
    program = [sys.executable, "-c", "import sys; print(sys.argv[1:]); sys.exit(7)", "a b", "$c"]

    done = subprocess.run(ending_with_parent(program), capture_output=True, text=True, timeout=120, check=False)

    assert done.stdout == "['a b', '$c']\n"
    assert done.returncode == 7


@pytest.mark.skipif(sys.platform != "linux", reason="cannot run here: only Linux tells a process that its parent died")
def test_the_program_ends_when_its_parent_is_killed() -> None:
    starts_it = (
        "import subprocess; from delayhub.local.parent_death import ending_with_parent;"
        f" subprocess.Popen(ending_with_parent({SAY_AND_WAIT!r})).wait()"
    )
    with subprocess.Popen([sys.executable, "-c", starts_it], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        program = psutil.Process(int(parent.stdout.readline()))

        parent.kill()

        _, alive = psutil.wait_procs([program], timeout=60)
    assert alive == []


@pytest.mark.skipif(sys.platform != "linux", reason="cannot run here: only Linux tells a process that its parent died")
def test_a_program_whose_parent_is_gone_already_does_not_begin() -> None:
    command = ending_with_parent(["true"])
    command[command.index(str(os.getpid()))] = "1"

    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 1
    assert done.stderr == "the process 1 that started this one is gone\n"
