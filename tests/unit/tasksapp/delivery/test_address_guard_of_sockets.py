from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tasksapp.delivery.address_guard import DialledSocket


def reused(descriptor: int, folder: Path) -> int:
    """Closes the descriptor behind its socket's back; the same number then belongs to a file."""
    os.close(descriptor)
    file = os.open(folder / "file", os.O_CREAT | os.O_RDWR)
    assert file == descriptor
    return file


def test_it_closes_its_descriptor_when_it_is_closed_or_collected() -> None:
    closed, collected = DialledSocket(), DialledSocket()
    descriptors = closed.fileno(), collected.fileno()

    closed.close()
    del collected

    for descriptor in descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


@pytest.mark.parametrize("how", ["closed", "collected"])
def test_it_leaves_a_descriptor_that_belongs_to_another_file_by_now(how: str, tmp_path: Path) -> None:
    dialled = DialledSocket(socket.AF_INET, socket.SOCK_STREAM)
    file = reused(dialled.fileno(), tmp_path)

    if how == "closed":
        dialled.close()
    del dialled

    assert os.write(file, b"still open") == 10
    os.close(file)


def test_a_descriptor_that_was_closed_already_is_no_error() -> None:
    dialled = DialledSocket()
    os.close(dialled.fileno())

    dialled.close()

    assert dialled.fileno() == -1
