"""A process that can open no more files and sockets ends; one that can soon again does not."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from delayhub.descriptors import EXIT_CODE, PATIENT_LOOKS, DescriptorWatch, has_descriptors

#: Opens all files that it may, and then waits to be ended.
GREEDY = """
import logging, resource, signal, sys, time
from delayhub.descriptors import DescriptorWatch

logging.basicConfig(format="%(levelname)s %(message)s")
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
opened = []
try:
    while True:
        opened.append(open("/dev/null"))
except OSError:
    pass
DescriptorWatch(look_seconds=0.02, end_seconds=0.2).start()
time.sleep(60)
"""


def run_greedy(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", GREEDY, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    probe = os.open(os.devnull, os.O_RDONLY)
    os.close(probe)
    resource.setrlimit(resource.RLIMIT_NOFILE, (probe, hard))  # the first descriptor that is free, and those above it
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_process_without_descriptors_says_so_and_ends() -> None:
    done = run_greedy()

    assert done.returncode == -signal.SIGTERM
    assert "CRITICAL this process can open no more files and sockets" in done.stderr


def test_a_process_that_does_not_end_in_order_is_ended_by_force() -> None:
    assert run_greedy("stubborn").returncode == EXIT_CODE


def test_a_process_that_finds_descriptors_again_goes_on() -> None:
    watch = DescriptorWatch()

    with no_descriptor_left():
        assert not has_descriptors()
        assert [watch.run_once() for _ in range(PATIENT_LOOKS - 1)] == [False] * (PATIENT_LOOKS - 1)
    assert not watch.run_once()

    with no_descriptor_left():
        looks = [watch.run_once() for _ in range(PATIENT_LOOKS)]

    assert looks == [*[False] * (PATIENT_LOOKS - 1), True]
