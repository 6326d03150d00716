"""Values encrypted at rest: each opens with its own key, at its own place, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet

from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.sealed_value import (
    MARK,
    SHORT_LENGTH,
    Tampered,
    is_of_newest_key,
    is_sealed,
    key_id_of,
    mac_of,
    open_bytes,
    open_text,
    seal_bytes,
    seal_short,
    seal_text,
)

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))
PLACE = "1/job/body"


def use(settings: Any, *keys: str) -> None:
    settings.DELAYHUB = {"ENCRYPTION_KEYS": [*keys]}


@pytest.mark.parametrize("text", ["", "null", "é" * 1_000, "@1 is no mark here"])
def test_a_text_comes_back(text: str) -> None:
    sealed = seal_text(text, place=PLACE)

    assert open_text(sealed, place=PLACE) == text
    assert is_sealed(sealed)
    assert sealed != seal_text(text, place=PLACE)


def test_bytes_come_back() -> None:
    sealed = seal_bytes(b"\x00\xff", place=PLACE)

    assert open_bytes(sealed, place=PLACE) == b"\x00\xff"
    assert is_sealed(memoryview(sealed))


@pytest.mark.parametrize("text", ["a" * 1_000, "é" * 500, "語" * 500])
def test_of_a_short_text_as_much_is_kept_as_its_column_has_room_for(text: str) -> None:
    sealed = seal_short(text, place=PLACE)

    assert len(sealed) <= SHORT_LENGTH
    opened = open_text(sealed, place=PLACE)
    assert text.startswith(opened)
    assert len(opened.encode()) > 330
    assert seal_short("", place=PLACE) == ""


def test_the_mark_alone_stands_for_an_empty_text() -> None:
    assert (open_text(MARK, place=PLACE), is_sealed(MARK), is_of_newest_key(MARK)) == ("", True, True)


@pytest.mark.parametrize("stored", ["null", "", '{"a":1}', "@", b"@", b"@2xxxxxxxx"])
def test_json_is_never_taken_for_an_encrypted_value(stored: str | bytes) -> None:
    assert is_sealed(stored) is (stored == MARK)


def test_a_value_opens_at_its_own_place_only() -> None:
    sealed = seal_text("mine", place=PLACE)

    with pytest.raises(Tampered):
        open_text(sealed, place="1/another/body")


@pytest.mark.parametrize("changed", [lambda s: s[:-5] + "AAAA=", lambda s: s + "!", lambda s: "null", lambda s: s[:14]])
def test_what_was_changed_does_not_open(changed: Any) -> None:
    with pytest.raises(Tampered):
        open_text(changed(seal_text("mine", place=PLACE)), place=PLACE)


def test_a_value_names_its_key_which_may_be_any_of_the_list(settings: Any) -> None:
    use(settings, OLD)
    text, raw = seal_text("mine", place=PLACE), seal_bytes(b"mine", place=PLACE)

    use(settings, NEW, OLD)
    assert (open_text(text, place=PLACE), open_bytes(raw, place=PLACE)) == ("mine", b"mine")
    assert not is_of_newest_key(text)
    assert not is_of_newest_key(raw)
    assert is_of_newest_key(seal_text("mine", place=PLACE))

    use(settings, NEW)
    with pytest.raises(SecretUnreadable, match=key_id_of(text)) as lost:
        open_text(text, place=PLACE)
    assert not isinstance(lost.value, Tampered)


def test_without_keys_of_its_own_it_hangs_on_the_secret_key(settings: Any) -> None:
    settings.DELAYHUB, settings.SECRET_KEY = {}, "one"
    sealed = seal_text("mine", place=PLACE)

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", ["one"]

    assert open_text(sealed, place=PLACE) == "mine"


def test_a_mac_names_its_key_and_fits_where_hashes_are(settings: Any) -> None:
    use(settings, OLD)
    mac = mac_of(b"1234") or ""

    assert (len(mac), is_sealed(mac)) == (64, True)
    assert mac_of(b"1234") != mac, "whoever reads two rows cannot tell that their requests were equal"
    assert mac_of(b"1234", like=mac) == mac
    assert mac_of(b"1235", like=mac) != mac
    use(settings, NEW, OLD)
    assert mac_of(b"1234", like=mac) == mac
    use(settings, NEW)
    assert mac_of(b"1234", like=mac) is None
