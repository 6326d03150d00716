"""What a person does to a biz type is stored at once, and touches nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DatabaseError
from django.utils import timezone

from delayhub.webhooks.signature import BadSecret
from tasksapp.access.actors import Actor
from tasksapp.biz_types.verbs import (
    ROTATION,
    Signing,
    edit,
    end_previous,
    make_key_pair,
    pause,
    public_keys,
    resume,
    rotate_signing_secret,
    stop_signing,
)
from tasksapp.models import UNTIL_RESUMED, AuditEntry, BizType

pytestmark = pytest.mark.django_db

OLD, NEW = ("whsec_" + text * 4 for text in ("b2xkIG9s", "bmV3IG5l"))


def test_a_paused_biz_type_waits_until_it_is_resumed(biz_type: BizType) -> None:
    pause(biz_type)
    assert BizType.objects.get().paused_until == UNTIL_RESUMED

    assert resume(biz_type)
    stored = BizType.objects.get()
    assert stored.paused_until is None
    assert stored.resumed_at is not None
    assert timezone.now() - stored.resumed_at < timedelta(minutes=1)


def test_a_pause_says_who_and_why_until_it_is_resumed(biz_type: BizType) -> None:
    pause(biz_type, by=Actor("ada"), reason="db move")
    assert BizType.objects.values_list("paused_by", "pause_reason").get() == ("ada", "db move")

    resume(biz_type, by=Actor("bob"))

    assert BizType.objects.values_list("paused_by", "pause_reason").get() == ("", "")
    assert list(AuditEntry.objects.order_by("id").values_list("actor", "verb", "reason")) == [
        ("ada", "biz_type.pause", "db move"),
        ("bob", "biz_type.resume", ""),
    ]


def test_what_is_not_paused_cannot_be_resumed(biz_type: BizType) -> None:
    assert not resume(biz_type)
    assert BizType.objects.get().resumed_at is None


def test_a_pause_has_an_end_of_its_own(biz_type: BizType) -> None:
    end = timezone.now() + timedelta(hours=1)

    pause(biz_type, until=end)

    assert BizType.objects.get().paused_until == end


def test_a_pause_until_a_time_that_has_passed_resumes(biz_type: BizType) -> None:
    pause(biz_type)

    pause(biz_type, until=timezone.now() - timedelta(hours=1))

    stored = BizType.objects.get()
    assert stored.paused_until is None
    assert stored.resumed_at is not None


def test_after_a_pause_that_ended_by_itself_the_rate_rises_from_its_end(biz_type: BizType) -> None:
    ended = timezone.now() - timedelta(days=1)
    BizType.objects.update(paused_until=ended)
    biz_type.refresh_from_db()

    assert resume(biz_type)

    assert BizType.objects.get().resumed_at == ended


def test_an_edit_stores_only_what_was_changed(biz_type: BizType) -> None:
    biz_type.name, biz_type.description, biz_type.auth_secret = "Orders", "stale", "token"
    BizType.objects.update(description="Close unpaid orders")

    edit(biz_type, {"name", "auth_secret", "signing_secret"})

    stored = BizType.objects.get()
    assert (stored.name, stored.description, stored.auth_secret) == ("Orders", "Close unpaid orders", "token")


def test_a_verb_keeps_what_another_person_has_edited(biz_type: BizType) -> None:
    BizType.objects.update(name="Orders")

    pause(biz_type)
    rotate_signing_secret(biz_type, NEW)

    assert BizType.objects.get().name == "Orders"


def test_the_first_secret_replaces_none(biz_type: BizType) -> None:
    rotate_signing_secret(biz_type, OLD)

    stored = BizType.objects.get()
    assert stored.signing_secret == OLD
    assert (stored.previous_signing_secret, stored.previous_secret_until) == ("", None)


def test_a_new_secret_signs_beside_the_old_one_for_a_day(biz_type: BizType) -> None:
    rotate_signing_secret(biz_type, OLD)
    before = timezone.now()
    rotate_signing_secret(biz_type, NEW)

    stored = BizType.objects.get()
    assert (stored.signing_secret, stored.previous_signing_secret) == (NEW, OLD)
    assert stored.previous_secret_until is not None
    assert before + ROTATION <= stored.previous_secret_until <= timezone.now() + ROTATION


def test_the_old_secret_signs_for_as_long_as_is_wanted(biz_type: BizType) -> None:
    rotate_signing_secret(biz_type, OLD)
    rotate_signing_secret(biz_type, NEW, overlap=timedelta(hours=1))
    ends = BizType.objects.get().previous_secret_until
    assert ends is not None
    assert ends - timezone.now() <= timedelta(hours=1)

    rotate_signing_secret(biz_type, OLD, overlap=timedelta())

    stored = BizType.objects.get()
    assert stored.signing_secret == OLD
    assert (stored.previous_signing_secret, stored.previous_secret_until) == ("", None)


def test_the_old_secret_ends_at_once_where_a_person_says_so(biz_type: BizType) -> None:
    rotate_signing_secret(biz_type, OLD)
    assert not end_previous(biz_type, Signing.SECRET)
    rotate_signing_secret(biz_type, NEW)

    assert end_previous(biz_type, Signing.SECRET, by=Actor("ada"))

    stored = BizType.objects.get()
    assert (stored.signing_secret, stored.previous_signing_secret) == (NEW, "")
    assert stored.previous_secret_until is None
    assert AuditEntry.objects.get().actor == "ada"


def test_a_removed_secret_leaves_none(biz_type: BizType) -> None:
    assert not stop_signing(biz_type, Signing.SECRET)
    rotate_signing_secret(biz_type, OLD)
    rotate_signing_secret(biz_type, NEW)

    assert stop_signing(biz_type, Signing.SECRET, by=Actor("ada"), reason="another way to sign")

    stored = BizType.objects.get()
    assert (stored.signing_secret, stored.previous_signing_secret) == ("", "")
    assert stored.is_unsigned
    entry = AuditEntry.objects.get()
    assert entry.reason == "another way to sign"
    assert NEW not in str(entry.before) + str(entry.after)


def test_a_secret_that_cannot_sign_is_refused_and_the_old_one_stays(biz_type: BizType) -> None:
    rotate_signing_secret(biz_type, OLD)

    with pytest.raises(BadSecret):
        rotate_signing_secret(biz_type, "short")

    assert BizType.objects.get().signing_secret == biz_type.signing_secret == OLD


def test_a_biz_type_that_was_deleted_meanwhile_is_an_error(biz_type: BizType) -> None:
    BizType.objects.all().delete()

    with pytest.raises(DatabaseError):
        pause(biz_type)


def test_a_new_key_pair_signs_beside_the_one_before_and_no_private_key_is_kept_as_text(biz_type: BizType) -> None:
    first, second = make_key_pair(biz_type), make_key_pair(biz_type, by=Actor("ada"))

    stored = BizType.objects.get()
    assert public_keys(stored, now=timezone.now()) == [second, first]
    assert public_keys(stored, now=timezone.now() + ROTATION) == [second]
    assert not stored.is_unsigned
    assert stored.signing_key.startswith("whsk_")
    assert "whsk_" not in repr(BizType.objects.values().get())
    entry = AuditEntry.objects.get()
    assert entry.verb == "biz_type.new_signing_key"
    assert stored.signing_key_sealed not in f"{entry.before}{entry.after}"
    assert first in f"{entry.before}"


def test_key_pairs_end(biz_type: BizType) -> None:
    assert not end_previous(biz_type, Signing.KEY_PAIR)
    assert not stop_signing(biz_type, Signing.KEY_PAIR)
    make_key_pair(biz_type)
    second = make_key_pair(biz_type)

    assert end_previous(biz_type, Signing.KEY_PAIR)
    assert public_keys(BizType.objects.get(), now=timezone.now()) == [second]
    third = make_key_pair(biz_type, overlap=timedelta())
    assert public_keys(BizType.objects.get(), now=timezone.now()) == [third]
    assert stop_signing(biz_type, Signing.KEY_PAIR)
    assert public_keys(BizType.objects.get(), now=timezone.now()) == []
    assert BizType.objects.get().is_unsigned
