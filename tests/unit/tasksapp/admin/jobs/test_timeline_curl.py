"""A request as a command for a shell."""

from __future__ import annotations

import shlex

from tasksapp.admin.jobs.timeline import curl
from tasksapp.delivery.sent_request import MASK


def test_the_command_sends_what_was_sent() -> None:
    headers = {"Content-Type": "application/json", "X-Team": "it's blue", "Content-Length": "7", "Host": "shop.example"}

    words = shlex.split(
        curl("PUT https://shop.example/hook?a=b", headers, '{"a": "it\'s $HOME `ls`"}').replace("\\\n", "")
    )

    assert words == [
        "curl", "-X", "PUT", "https://shop.example/hook?a=b",
        "-H", "Content-Type: application/json", "-H", "X-Team: it's blue",
        "--data-raw", '{"a": "it\'s $HOME `ls`"}',
    ]  # fmt: skip


def test_placeholders_stand_where_secrets_were() -> None:
    command = curl("POST https://shop.example/", {"Authorization": f"Bearer {MASK}"}, "null")

    assert "Authorization: Bearer <SECRET>" in command
    assert MASK not in command


def test_an_attempt_whose_request_was_not_kept_has_no_command() -> None:
    assert curl("", {}, "null") == ""


def test_bytes_that_are_no_text_are_piped_into_the_command() -> None:
    command = curl("POST https://shop.example/", {"Content-Type": "image/png"}, b"\x00\xff'")
    large = curl("POST https://shop.example/", {}, b"\xff" * 4_097)

    assert command.startswith("echo AP8n | base64 -d |")
    assert command.endswith("--data-binary @-")
    assert large.startswith("cat body.bin |")
