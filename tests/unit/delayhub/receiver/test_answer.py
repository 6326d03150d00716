"""What DelayHub makes of an answer: the receiver's kit and the sender must agree."""

from __future__ import annotations

import pytest

from delayhub.receiver import Answer
from delayhub.receiver.answer import is_taken
from tasksapp.delivery.answers import judge
from tasksapp.delivery.outcomes import Delivered
from tests.callbacks import callback


@pytest.mark.parametrize("status", [200, 204, 299, 302, 400, 409, 410, 500])
@pytest.mark.parametrize("action", ["", "done", " Cancel-Others", "retry", "FAIL", "unheard of"])
def test_work_is_kept_exactly_where_the_sender_takes_the_answer_for_success(status: int, action: str) -> None:
    answer = Answer(status, {"DelayHub-Action": action} if action else {})

    outcome = judge(callback().target, status, answer.headers, now_ms=0)

    assert is_taken(answer.status, answer.action) is isinstance(outcome, Delivered)
