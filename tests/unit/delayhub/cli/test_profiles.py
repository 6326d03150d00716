"""Sites and keys in a file of the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from delayhub.cli.profiles import Profile, ProfileError, Profiles, config_file, load, others_can_read, save

WORK = Profile("https://delay.example", 'dh_"\\\x7fkey')


def test_profiles_come_back_as_they_were_saved(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    profiles = Profiles({}).with_profile("work", WORK).with_profile('my "home"', WORK).using('my "home"')

    save(profiles, path)

    assert load(path) == profiles


def test_only_this_user_can_read_the_keys(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("")
    path.chmod(0o644)
    assert others_can_read(path)

    save(Profiles({"work": WORK}), path)

    assert path.stat().st_mode & 0o777 == 0o600
    assert not others_can_read(path)
    assert "dh_" not in repr(load(path))


def test_the_first_profile_is_in_use_until_it_is_removed() -> None:
    profiles = Profiles({}).with_profile("work", WORK).with_profile("home", WORK)

    assert profiles.in_use == "work"
    assert profiles.without("work").in_use is None
    assert profiles.without("home").in_use == "work"


def test_an_unknown_profile_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ProfileError, match="no profile 'hom'; there are: home, work"):
        Profiles({"work": WORK, "home": WORK}).find("hom")


@pytest.mark.parametrize("text", ["not toml", "[profiles.work]\nurl = 1", "profiles = 3"])
def test_a_file_of_something_else_is_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)

    with pytest.raises(ProfileError, match="is no list of profiles"):
        load(path)


def test_the_file_is_where_settings_of_users_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DELAYHUB_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert config_file() == tmp_path / "delayhub" / "config.toml"
    assert load(config_file()).named == {}
