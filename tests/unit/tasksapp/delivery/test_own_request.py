"""What a job's row keeps of its own request, and what may be seen of it."""

from __future__ import annotations

from tasksapp.delivery.own_request import OwnRequest, read_own_request, shown_own_request


def test_a_job_without_one_keeps_an_empty_text() -> None:
    assert OwnRequest().text() == ""
    assert read_own_request("") == OwnRequest()
    assert shown_own_request("") is None


def test_what_is_kept_is_read_again() -> None:
    own = OwnRequest(3.5, "https://a.example/", {"X-Región": "1"}, {"Authorization": "gAAAA"}, "https://a.example")

    assert read_own_request(own.text()) == own


def test_secrets_are_shown_as_hidden() -> None:
    own = OwnRequest(3.0, "https://a.example/?token=s3cret&a=b", {"X-Team": "a"}, {"Authorization": "gAAAA"})

    shown = shown_own_request(own.text())

    assert shown is not None
    assert shown["headers"] == {"X-Team": "a", "Authorization": "(hidden)"}
    assert (shown["timeout_seconds"], "s3cret" in shown["url"], "a=b" in shown["url"]) == (3.0, False, True)
