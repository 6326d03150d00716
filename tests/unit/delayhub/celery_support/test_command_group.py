"""Celery loads the group for each of its commands, also where a package of the extra is missing."""

from __future__ import annotations

import subprocess
import sys

from click.testing import CliRunner

from delayhub.celery_support import command, command_group
from delayhub.errors import INSTALL_PAGE


def test_the_group_is_that_of_the_commands() -> None:
    assert command_group.group is command.delayhub
    assert CliRunner().invoke(command_group.group, ["--help"]).exit_code == 0


def test_a_missing_package_is_one_sentence_of_that_command_and_nothing_to_the_others() -> None:
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "from celery.bin.celery import main\n"
        "sys.argv = ['celery', 'delayhub', 'counts', '--json']; sys.exit(main())\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout) == (1, "")
    how = f'install DelayHub with the extra "celery", as {INSTALL_PAGE} says'
    assert done.stderr == f"Error: redis is not installed: {how}\n"
