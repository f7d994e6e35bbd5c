from collections import Counter
from contextlib import suppress
from unittest.mock import Mock

import pytest

from redpacket.operations.model.limits import PASSPHRASE_TRIES
from redpacket.packets import pinyin
from redpacket.packets.errors import (
    GrabTokenInvalid,
    NotInvited,
    PacketEmptied,
    PacketExpired,
    PassphraseMismatch,
)
from redpacket.packets.model.claim import Admission, AdmitOutcome, AdmitStatus, Claim
from redpacket.packets.model.grab_token import LIFE_MS
from redpacket.packets.model.packet import Opening, Packet, Rules
from redpacket.platform import errors
from testing.builders import list_shares
from testing.fakes import FakeLimits
from testing.in_memory_system import ADMISSION_FACTOR, InMemorySystem
from testing.packets.fake_claim_cache import FakeShards

TWO_STEP = Rules(opening=Opening.TWO_STEP)


def _admitted(system: InMemorySystem, packet: Packet, user_id: str) -> Admission:
    answer = system.grab_or_enter(packet, user_id)
    assert isinstance(answer, Admission)
    return answer


# ---------------------------------------------------------------- two steps


def test_grab_admits_and_open_claims_the_share(system: InMemorySystem) -> None:
    packet = system.send(rules=TWO_STEP, count=2)

    admission = _admitted(system, packet, "ann")
    # The admission is not a share yet.
    assert (list_shares(system.packets, packet.packet_id), system.queue.refs) == ([], [])
    claim = system.open(packet, "ann", admission.grab_token)

    assert admission.expires_at_ms == system.clock.now_ms() + LIFE_MS
    assert (claim.share.share_no, claim.is_new) == (1, True)
    assert system.queue.refs == [claim.share.ref]


def test_a_packet_that_is_emptied_in_between_is_reported(system: InMemorySystem) -> None:
    packet = system.send(rules=TWO_STEP, count=1)
    tokens = {user: _admitted(system, packet, user).grab_token for user in ("ann", "bob")}
    system.open(packet, "ann", tokens["ann"])

    with pytest.raises(PacketEmptied):
        system.open(packet, "bob", tokens["bob"])
    with pytest.raises(PacketEmptied):
        system.grab_or_enter(packet, "cat")


def test_admissions_are_limited_to_the_places_and_an_unused_one_goes_to_another_user(
    system: InMemorySystem,
) -> None:
    packet = system.send(rules=TWO_STEP, count=2, life_ms=2 * LIFE_MS)
    for number in range(2 * ADMISSION_FACTOR):
        _admitted(system, packet, f"user-{number}")

    with pytest.raises(errors.RateLimited) as refused:
        system.grab_or_enter(packet, "late")

    system.pass_time(LIFE_MS - 1_001)
    with pytest.raises(errors.RateLimited) as refused_again:
        system.grab_or_enter(packet, "late")

    assert refused.value.retry_after_s == LIFE_MS // 1000
    assert refused_again.value.retry_after_s == 2
    system.pass_time(1_001)
    _admitted(system, packet, "late")
    system.pass_time(LIFE_MS)
    with pytest.raises(PacketExpired):
        system.grab_or_enter(packet, "later")


def test_a_place_that_becomes_free_in_this_millisecond_has_a_wait_of_one_second(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = system.send(rules=TWO_STEP)
    crowded = AdmitOutcome(AdmitStatus.CROWDED, system.clock.now_ms())
    monkeypatch.setattr(FakeShards, "admit", lambda *_, **__: crowded)

    with pytest.raises(errors.RateLimited) as refused:
        system.grab_or_enter(packet, "ann")

    assert refused.value.retry_after_s == 1


def test_opening_again_gives_the_same_share_with_any_token(system: InMemorySystem) -> None:
    packet = system.send(rules=TWO_STEP)
    first = system.open(packet, "ann", _admitted(system, packet, "ann").grab_token)

    for token in ("nonsense", _admitted(system, packet, "bob").grab_token):
        again = system.open(packet, "ann", token)
        assert (again.share, again.is_new) == (first.share, False)
    assert isinstance(system.grab_or_enter(packet, "ann"), Claim)


def test_a_token_opens_only_for_its_user_packet_and_time(system: InMemorySystem) -> None:
    packet = system.send(rules=TWO_STEP, life_ms=10 * LIFE_MS)
    one_step, token = system.send(), _admitted(system, packet, "ann").grab_token

    for of, user in ((packet, "bob"), (one_step, "ann")):
        with pytest.raises(GrabTokenInvalid):
            system.open(of, user, token)
    system.pass_time(LIFE_MS)
    with pytest.raises(GrabTokenInvalid):
        system.open(packet, "ann", token)


def test_a_token_outlives_the_cache(system: InMemorySystem) -> None:
    packet = system.send(rules=TWO_STEP)
    token = _admitted(system, packet, "ann").grab_token
    system.memory.caches.clear()

    assert system.open(packet, "ann", token).share.share_no == 1


def test_a_cache_flush_between_check_and_admission_gives_no_share_away(
    system: InMemorySystem,
) -> None:
    packet = system.send(rules=TWO_STEP)
    admit = system.memory.admit

    def flushed(*args: object, **named: object) -> object:
        system.memory.caches.clear()
        system.memory.admit = admit  # type: ignore[method-assign]
        return admit(*args, **named)  # type: ignore[arg-type]

    system.memory.admit = flushed  # type: ignore[method-assign, assignment]

    _admitted(system, packet, "ann")

    assert system.memory.holders(packet.packet_id) == {}


# ---------------------------------------------------------------- recipients


def test_an_exclusive_packet_is_for_its_recipients_only(system: InMemorySystem) -> None:
    packet = system.send(rules=Rules(recipients=frozenset({"ann", "bob"})), count=2)

    with pytest.raises(NotInvited):
        system.grab(packet, "eve")

    assert system.grab(packet, "ann").share.share_no == 1
    assert system.memory.holders(packet.packet_id) == {"ann": 1}


def test_repeats_of_uninvited_users_do_not_read_the_ledger(system: InMemorySystem) -> None:
    packet = system.send(rules=Rules(recipients=frozenset({"ann"})))
    with pytest.raises(NotInvited):
        system.grab(packet, "eve")
    remembered = system.packets._known
    system.stand_on(None)  # Every call would fail.
    system.packets._known = remembered

    for user in ("eve", "mallory"):
        with pytest.raises(NotInvited):
            system.grab(packet, user)

    system.stand_on(system.dynamo)


# ---------------------------------------------------------------- passphrases


def test_a_user_with_the_passphrase_gets_a_share(system: InMemorySystem) -> None:
    packet = system.send(rules=Rules(passphrase="恭喜发财"), count=3)

    assert system.grab(packet, "ann", "恭喜发财！").share.share_no == 1
    assert system.grab(packet, "bob", "恭禧发才").share.share_no == 2
    assert system.grab(packet, "ann").share.share_no == 1


def test_a_user_with_a_wrong_passphrase_gets_nothing(system: InMemorySystem) -> None:
    packet = system.send(rules=Rules(passphrase="恭喜发财"))
    strict = system.send(rules=Rules(passphrase="恭喜发财", passphrase_threshold=100))

    for of, spoken in (
        *((packet, word) for word in (None, "", "新年快乐", "！")),
        (strict, "恭喜发菜了"),
    ):
        with pytest.raises(PassphraseMismatch):
            system.grab(of, "ann", spoken)
        assert system.memory.holders(of.packet_id) == {}


def test_attempts_are_limited_per_user_and_packet(system: InMemorySystem) -> None:
    packet, other = (system.send(rules=Rules(passphrase="芝麻开门")) for _ in range(2))
    for _ in range(PASSPHRASE_TRIES.burst):
        with pytest.raises(PassphraseMismatch):
            system.grab(packet, "eve", "猜")

    with pytest.raises(errors.RateLimited) as refused:
        system.grab(packet, "eve", "芝麻开门")

    assert refused.value.retry_after_s == 60
    assert system.grab(packet, "ann", "芝麻开门").is_new
    assert system.grab(other, "eve", "芝麻开门").is_new


def _hears(system: InMemorySystem, packet: Packet, user_id: str, passphrase: str) -> str:
    try:
        system.grab(packet, user_id, passphrase)
    except errors.RedPacketError as error:
        return error.code
    return "claimed"


def test_a_thousand_accounts_cannot_guess_a_code_of_four_digits(system: InMemorySystem) -> None:
    # Guess for 24 hours at a packet of ten shares; docs/adr/0006 states the result.
    packet = system.send(rules=Rules(passphrase="8848"), count=10, life_ms=25 * 3_600_000)
    counts: Counter[str] = Counter()
    for hour in range(24):
        # After a day, each account would have five more attempts.
        for number in range(1000 if hour in {0, 23} else 10):
            counts[_hears(system, packet, f"eve-{number}", "848")] += 1
        system.pass_time(3_600_000)

    assert counts["claimed"] == 0
    assert counts["passphrase_mismatch"] == 20 + 2 * 10 + 23


def test_the_exact_phrase_uses_up_no_attempts_of_the_packet(system: InMemorySystem) -> None:
    packet = system.send(rules=Rules(Opening.TWO_STEP, passphrase="恭喜发财"), count=1)
    for number in range(30):  # Most of these users find all places taken.
        with suppress(errors.RateLimited):
            system.grab_or_enter(packet, f"user-{number}", "恭喜发财")

    decision = [_hears(system, packet, f"eve-{number}", "猜") for number in range(23)]

    assert decision == ["passphrase_mismatch"] * 22 + ["rate_limited"]


def test_every_claimer_can_be_misheard(system: InMemorySystem) -> None:
    packet = system.send(rules=Rules(passphrase="恭喜发财"), count=100)

    heard = Counter(_hears(system, packet, f"user-{number}", "恭禧发才") for number in range(100))

    assert heard == {"claimed": 100}


@pytest.mark.parametrize("passphrase", ["8848", "848"])
def test_without_attempts_right_and_wrong_guesses_get_the_same_answer(
    system: InMemorySystem, passphrase: str
) -> None:
    packet = system.send(rules=Rules(passphrase="8848"), count=1)
    for number in range(22):
        assert _hears(system, packet, f"eve-{number}", "1234") == "passphrase_mismatch"

    with pytest.raises(errors.RateLimited) as refused:
        system.grab(packet, "ann", passphrase)

    assert refused.value.retry_after_s == 3600
    assert str(refused.value) == "Too many attempts at this passphrase. Try again later."


@pytest.mark.parametrize("passphrase", ["8848", "848"])
def test_a_phrase_is_counted_before_it_is_compared(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch, passphrase: str
) -> None:
    """Otherwise, an unavailable cache would make a right guess look different from a wrong one."""

    def not_asked(*_: object) -> int:
        raise AssertionError("how long an answer takes would tell whether the guess is right")

    monkeypatch.setattr(pinyin, "similarity", not_asked)
    packet = system.send(rules=Rules(passphrase="8848"))
    assert isinstance(system.limits, FakeLimits)
    system.limits.is_away = True

    assert _hears(system, packet, "eve", passphrase) == "unavailable"
    assert system.memory.holders(packet.packet_id) == {}


def test_an_empty_phrase_does_not_use_up_an_attempt(system: InMemorySystem) -> None:
    packet = system.send(rules=Rules(passphrase="芝麻开门"))
    for _ in range(2 * PASSPHRASE_TRIES.burst):
        with pytest.raises(PassphraseMismatch):
            system.grab(packet, "ann")

    assert system.grab(packet, "ann", "芝麻开门").is_new


def test_rules_are_restored_from_the_ledger(system: InMemorySystem) -> None:
    rules = Rules(Opening.TWO_STEP, frozenset({"ann", "b|ob@x.y"}), "恭喜", 90)

    packet = system.send(rules=rules)

    assert system.packets.find_packet(packet.packet_id) == packet
    assert packet.rules == rules


def test_a_late_user_at_an_emptied_packet_reads_nothing(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = system.send(rules=TWO_STEP, count=1)
    system.open(packet, "ann", _admitted(system, packet, "ann").grab_token)
    for name in ("find_share_of", "list_shard_shares"):
        monkeypatch.setattr(type(system.packets), name, Mock(side_effect=AssertionError))

    with pytest.raises(PacketEmptied):
        system.grab_or_enter(packet, "cat")
