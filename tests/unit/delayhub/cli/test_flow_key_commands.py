"""``delayhub flow-keys list``: what it shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from delayhub.cli.flow_key_commands import flow_keys
from delayhub.cli.session import Session
from delayhub.cli.times import now
from delayhub.client import FlowKey, FlowKeys


class _Answered(Session):
    """A session whose site gives one answer."""

    answer: FlowKeys

    @property
    def api(self) -> Any:
        return SimpleNamespace(biz_types=SimpleNamespace(flow_keys=lambda *_, **__: self.answer))


def test_the_keys_are_shown_with_what_holds_them(capsys: pytest.CaptureFixture[str]) -> None:
    ends = (None, now() + timedelta(hours=1), datetime(9999, 12, 31, tzinfo=UTC))
    keys = [
        FlowKey(flow_key=f"c-{n}", waiting=1_200, due=n, in_flight=2, paused_until=end, blocked_by=None)
        for n, end in enumerate(ends)
    ]
    keys.append(FlowKey(flow_key="c-3", waiting=1, due=1, in_flight=0, paused_until=None, blocked_by="7"))
    session = _Answered()
    session.answer = FlowKeys(flow_keys=keys, is_whole=False, paused=["c-1", "c-2"], blocked=["c-3"])

    flow_keys.main(["list", "order.close"], obj=session, standalone_mode=False)

    shown = capsys.readouterr()
    rows = [line.split() for line in shown.out.splitlines()[1:]]
    assert [row[:5] for row in rows] == [
        ["c-0", "1,200", "0", "2", "ok"],
        ["c-1", "1,200", "1", "2", "paused"],
        ["c-2", "1,200", "2", "2", "paused"],
        ["c-3", "1", "1", "0", "waits"],
    ]
    assert (rows[1][5], rows[2][5:]) == ("until", [])
    assert "Not all keys were counted" in shown.err
    assert "Paused: c-1, c-2" in shown.err
    assert "Blocked: c-3" in shown.err
