from __future__ import annotations

from delayhub.engine.scripts import names, script
from proof.virtual_time import virtual_time


def test_no_script_reads_another_clock_than_the_one_of_the_run() -> None:
    real = {name: script(name).source for name in names()}

    with virtual_time():
        virtual = {name: script(name).source for name in names()}

    assert [name for name, source in virtual.items() if "'TIME'" in source] == []
    assert sum("'TIME'" in source for source in real.values()) > 20
    assert {name: script(name).source for name in names()} == real
