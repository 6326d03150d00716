"""One folder, one site."""

from __future__ import annotations

import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from delayhub.errors import DataFolderInUse, DataFolderUnfit
from delayhub.local.data_folder import DataFolder, private_file


def test_a_folder_in_use_is_refused_and_free_again_afterwards(tmp_path: Path) -> None:
    with DataFolder(tmp_path / "new"), pytest.raises(DataFolderInUse, match="is in use by another"):
        DataFolder(tmp_path / "new").__enter__()

    with DataFolder(tmp_path / "new") as folder:
        assert folder.logs.is_dir()


def test_a_folder_stays_locked_while_a_process_of_the_site_lives(tmp_path: Path) -> None:
    with DataFolder(tmp_path) as folder:
        left_behind = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[folder.lock_descriptor]
        )
    try:
        with pytest.raises(DataFolderInUse):
            DataFolder(tmp_path).__enter__()
    finally:
        left_behind.communicate(b"\n", timeout=60)

    with DataFolder(tmp_path):
        pass


def test_a_path_that_cannot_be_a_folder_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(DataFolderUnfit, match=r"file cannot be used \(Not a directory\): name another"):
        DataFolder(tmp_path / "file").__enter__()


def test_a_secret_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)

    assert folder.kept("key", lambda: "first") == "first"
    assert folder.kept("key", lambda: "second") == "first"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_a_secret_that_a_full_disk_has_left_empty_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "key").touch()

    assert DataFolder(tmp_path).kept("key", lambda: "first") == "first"


def test_a_secret_for_which_the_disk_has_no_room_leaves_nothing(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, room[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            folder.kept("key", lambda: "half is written")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)

    assert not list(tmp_path.iterdir())
    assert folder.kept("key", lambda: "whole") == "whole"


def test_only_its_owner_looks_into_a_folder_also_into_one_of_an_earlier_version(tmp_path: Path) -> None:
    old = tmp_path / "old"
    (old / "logs").mkdir(parents=True)
    for folder in (old, old / "logs"):
        folder.chmod(0o755)

    for path in (old, tmp_path / "new"):
        with DataFolder(path) as folder:
            assert mode(path) == mode(folder.logs) == 0o700


def test_only_its_owner_reads_a_private_file_and_what_it_held_stays(tmp_path: Path) -> None:
    log = tmp_path / "service.log"
    log.write_text("before\n")
    log.chmod(0o644)

    with private_file(log) as file:
        file.write(b"after\n")

    assert log.read_text() == "before\nafter\n"
    assert mode(log) == 0o600


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
