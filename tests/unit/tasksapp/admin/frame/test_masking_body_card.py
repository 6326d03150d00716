"""Bytes in lines of digits; what the page shows of them to whom is in the integration tests of the page."""

from __future__ import annotations

from tasksapp.admin.frame.masking import dump


def test_each_line_says_where_it_begins_and_has_eight_bytes_and_their_letters() -> None:
    assert dump(b"\x00<a b='\xe4\n~") == "0000 00 3c 61 20 62 3d 27 e4 .<a b='.\n0008 0a 7e                   .~"
    assert dump(b"") == ""
