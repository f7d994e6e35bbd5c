"""Packets and lotteries in a cache that an insider alters: no rule or amount changes."""

from typing import Any

import pytest

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.campaigns.errors import NotInAudience
from redpacket.lottery.model.lottery import draw_day
from redpacket.lottery.redis import keys as lottery_keys
from redpacket.lottery.redis.draws import RedisDraws
from redpacket.packets.errors import GrabTokenInvalid, NotInvited, PassphraseMismatch
from redpacket.packets.model.claim import Admission, Claim
from redpacket.packets.model.packet import Opening, Packet, Rules, shard_id
from redpacket.packets.ports import ClaimCache
from redpacket.packets.redis import keys
from redpacket.packets.redis.shards import STATE, RedisShards
from redpacket.packets.use_cases.sharded_claims import ShardedClaims
from redpacket.platform.errors import Rejected, Unavailable
from testing.builders import a_prize
from testing.in_memory_system import InMemorySystem
from testing.platform.servers import OperatorCache
from testing.platform.wall_clock import WallClock

GATED: list[tuple[dict[str, Any], type[Rejected]]] = [
    ({"recipients": frozenset({"ann"})}, NotInvited),
    ({"passphrase": "恭喜发财"}, PassphraseMismatch),
    ({"recipients": frozenset({"ann"}), "opening": Opening.TWO_STEP}, NotInvited),
]


class Insider:
    """Attacker who may write to one system's cache."""

    def __init__(self, cache: OperatorCache) -> None:
        self.cache = cache
        self.system = InMemorySystem()
        self.system.clock = WallClock()
        self.system.claim_cache = self.fresh()

    def fresh(self) -> ClaimCache:
        """Return the claim cache of a new process."""
        return ShardedClaims(RedisShards(self.cache, PUBLISHED_SEEDS), clock=self.system.clock)

    def replace(self, cache_id: str, old: str, new: str) -> None:
        key = keys.claim_cache(cache_id)
        state = str(self.cache.hget(key, STATE))
        assert old in state
        self.cache.hset(key, STATE, state.replace(old, new))
        self.system.claim_cache = self.fresh()

    def give(self, packet: Packet, user_id: str, share_no: int) -> None:
        self.cache.hset(keys.claim_cache(packet.packet_id), user_id, str(share_no))


@pytest.fixture
def insider(cache: OperatorCache) -> Insider:
    return Insider(cache)


@pytest.mark.parametrize(("rules", "refusal"), GATED)
def test_a_packet_without_its_rules_flag_still_enforces_its_rules(
    insider: Insider, rules: dict[str, Any], refusal: type[Rejected]
) -> None:
    system = insider.system
    packet = system.send(count=1, rules=Rules(**rules))
    insider.replace(packet.packet_id, "!", "")

    with pytest.raises(refusal):
        system.grab_or_enter(packet, "thief")

    assert system.logger.events == ["packet_altered"]
    assert isinstance(system.grab_or_enter(packet, "ann", passphrase="恭喜发财"), Claim | Admission)


@pytest.mark.parametrize("is_loaded", [True, False])
@pytest.mark.parametrize(("rules", "refusal"), GATED)
def test_a_claim_number_in_the_cache_does_not_replace_an_invitation(
    insider: Insider, rules: dict[str, Any], refusal: type[Rejected], *, is_loaded: bool
) -> None:
    system = insider.system
    packet = system.send(count=2, rules=Rules(**rules))
    insider.give(packet, "thief", 1)
    if not is_loaded:
        insider.cache.hdel(keys.claim_cache(packet.packet_id), STATE)

    with pytest.raises(refusal):
        system.grab_or_enter(packet, "thief")

    assert not system.ledger_state().shares


def test_a_claim_number_in_the_cache_does_not_replace_a_grab_token(insider: Insider) -> None:
    system = insider.system
    packet = system.send(count=2, rules=Rules(opening=Opening.TWO_STEP))
    insider.give(packet, "thief", 1)

    with pytest.raises(GrabTokenInvalid):
        system.open(packet, "thief", "made up")


def test_a_claim_number_in_the_cache_makes_no_user_a_campaign_member(insider: Insider) -> None:
    system = insider.system
    campaign = system.rain(required_claims=(("vip", ("true",)),))
    packet = system.send_of(campaign, count=2)
    insider.give(packet, "thief", 1)

    with pytest.raises(NotInAudience):
        system.grab(packet, "thief")


def test_a_user_whose_claim_was_interrupted_gets_the_number_by_the_same_request(
    insider: Insider,
) -> None:
    system = insider.system
    packet = system.send(count=2, rules=Rules(passphrase="恭喜发财"))
    insider.give(packet, "ann", 1)

    assert system.grab(packet, "ann", passphrase="恭喜发财").share.share_no == 1


def test_a_forged_amount_is_shown_to_no_user(insider: Insider) -> None:
    system = insider.system
    packet = system.send(total_fen=100, count=1)
    insider.replace(packet.packet_id, ",2s,", ",fk0,")

    claim = system.grab(packet, "ann")

    assert claim.share.amount_fen == 100
    assert system.logger.events == ["packet_altered"]


@pytest.mark.parametrize("state", ["O", "nonsense", "O0000000000010", "é" * 60])
def test_an_unreadable_state_is_loaded_again(insider: Insider, state: str) -> None:
    system = insider.system
    packet = system.send(total_fen=100, count=1)
    insider.cache.hset(keys.claim_cache(packet.packet_id), STATE, state)

    assert system.grab(packet, "ann").share.amount_fen == 100


def test_the_state_of_another_packet_is_rejected(insider: Insider) -> None:
    system = insider.system
    poor, rich = system.send(total_fen=100, count=1), system.send(total_fen=900, count=1)
    state = insider.cache.hget(keys.claim_cache(rich.packet_id), STATE)
    insider.cache.hset(keys.claim_cache(poor.packet_id), STATE, str(state))

    assert system.grab(poor, "ann").share.amount_fen == 100


def test_a_shard_is_rejected_in_place_of_another(insider: Insider) -> None:
    system = insider.system
    packet = system.send_in_shards(2, 6)
    cache_ids = [shard_id(packet.packet_id, part) for part in range(2)]
    insider.replace(cache_ids[0], ",", ",1")
    insider.replace(cache_ids[1], ",", ",1")

    claims = [system.grab(packet, f"user-{number}") for number in range(6)]

    assert sum(claim.share.amount_fen for claim in claims) == packet.terms.total_fen
    assert set(system.logger.events) == {"packet_altered"}


def test_a_packet_that_is_altered_after_each_load_is_refused(insider: Insider) -> None:
    system = insider.system
    packet = system.send(total_fen=100, count=1)
    insider.replace(packet.packet_id, ",2s,", ",fk0,")
    real, load = system.claim_cache, system.claim_cache.load

    def load_and_alter(*given: Any) -> None:
        load(*given)
        insider.replace(packet.packet_id, ",2s,", ",fk0,")
        system.claim_cache = real

    real.load = load_and_alter  # type: ignore[method-assign, assignment]
    with pytest.raises(Unavailable):
        system.grab(packet, "ann")

    assert not system.ledger_state().shares


@pytest.mark.parametrize("sent_of", ["plain", "gated", "sharded"])
def test_a_packet_whose_key_has_another_type_is_loaded_again(
    insider: Insider, sent_of: str
) -> None:
    system = insider.system
    if sent_of == "sharded":
        packet = system.send_in_shards(2, 6)
        cache_ids = [shard_id(packet.packet_id, part) for part in range(2)]
    else:
        rules = Rules(passphrase="恭喜发财") if sent_of == "gated" else Rules()
        packet = system.send(count=3, rules=rules)
        cache_ids = [packet.packet_id]
    first = system.grab(packet, "ann", passphrase="恭喜发财").share
    for cache_id in cache_ids:
        insider.cache.set(keys.claim_cache(cache_id), "broken")

    repeat = system.grab(packet, "ann", passphrase="恭喜发财").share
    other = system.grab(packet, "bob", passphrase="恭喜发财").share

    assert repeat.share_no == first.share_no != other.share_no
    assert set(system.logger.events) == {"packet_altered"}


def test_a_process_that_saw_the_packet_open_reloads_a_key_of_another_type(insider: Insider) -> None:
    system = insider.system
    packet = system.send(count=3)
    system.grab(packet, "ann")
    insider.cache.set(keys.claim_cache(packet.packet_id), "broken")

    shares = {system.grab(packet, user).share.share_no for user in ("ann", "bob", "cat")}

    assert shares == {1, 2, 3}


def test_admission_slots_of_another_type_are_created_again(insider: Insider) -> None:
    system = insider.system
    packet = system.send(count=2, rules=Rules(opening=Opening.TWO_STEP))
    insider.cache.set(keys.admitted(packet.packet_id), "broken")

    with pytest.raises(Unavailable):
        system.grab_or_enter(packet, "ann")

    assert isinstance(system.grab_or_enter(packet, "ann"), Admission)


def test_a_packet_whose_key_has_another_type_can_be_closed(insider: Insider) -> None:
    system = insider.system
    packet = system.send(count=2)
    insider.cache.set(keys.claim_cache(packet.packet_id), "broken")

    with pytest.raises(Unavailable):
        system.claim_cache.close(packet.packet_id)

    system.claim_cache.close(packet.packet_id)


def test_a_forged_state_is_reported_once_and_the_correct_one_is_accepted(insider: Insider) -> None:
    system = insider.system
    packet = system.send(total_fen=300, count=3)
    insider.replace(packet.packet_id, ",8c,", ",fk0,")

    claims = [system.grab(packet, user) for user in ("ann", "bob", "cat")]

    assert all(isinstance(claim, Claim) for claim in claims)
    assert system.logger.events == ["packet_altered"]


FORGED_ODDS = "phone:1000000000|0"


@pytest.mark.parametrize("change", ["odds", "units", "end"])
def test_an_altered_lottery_gives_no_prize(insider: Insider, change: str) -> None:
    system, cache = insider.system, insider.cache
    system.draw_cache = RedisDraws(cache)
    now_ms = system.clock.now_ms()
    window = {"starts_at_ms": now_ms - 60_000, "ends_at_ms": now_ms + 60_000}
    phone = a_prize("gala", "phone", weight=1, total=1)
    rate = {"odds": 10**9, "units": 0, "end": 0}[change]
    campaign = system.lottery(phone, **window, miss_weight=rate)
    system.load_campaign("gala")
    key = lottery_keys.draw_cache("gala")
    day_key = lottery_keys.draw_day("gala", draw_day(campaign, now_ms).name)
    if change == "odds":
        assert system.draw("gala", "honest", "key").draw.prize is None
        name, standing = f"o:{'f' * 16}", str(cache.hget(day_key, "="))
        forged = f"{standing[:26]}{10**9:016d}{0:016d}{name}{FORGED_ODDS}"
        cache.hset(day_key, mapping={name: FORGED_ODDS, "=": forged})
    elif change == "units":
        cache.hset(key, "phone", "1,1000,0,0,0;500")
    else:
        rules = str(cache.hget(key, "#"))
        system.pass_time(90_000)
        cache.hset(key, "#", rules[:14] + f"{now_ms + 10**7:013d}" + rules[27:])

    if change == "units":
        assert system.draw("gala", "thief", "key").draw.unit_no == 1
    elif change == "odds":
        assert system.draw("gala", "thief", "key").draw.prize is None
    else:
        with pytest.raises(Unavailable):
            system.draw("gala", "thief", "key")

    assert "campaign_altered" in system.logger.events


@pytest.mark.parametrize("broken", ["lottery", "day", "winners"])
def test_a_lottery_whose_key_has_another_type_is_loaded_again(
    insider: Insider, broken: str
) -> None:
    system, cache = insider.system, insider.cache
    system.draw_cache = RedisDraws(cache)
    now_ms = system.clock.now_ms()
    window = {"starts_at_ms": now_ms - 60_000, "ends_at_ms": now_ms + 60_000}
    phone = a_prize("gala", "phone", weight=1, total=1, once_per_user=True)
    campaign = system.lottery(phone, **window, miss_weight=0)
    system.load_campaign("gala")
    day = draw_day(campaign, now_ms).name
    key = {
        "lottery": lottery_keys.draw_cache("gala"),
        "day": lottery_keys.draw_day("gala", day),
        "winners": lottery_keys.draw_winners("gala"),
    }[broken]
    cache.set(key, "broken")

    assert system.draw("gala", "ann", "key").draw.unit_no == 1
    assert system.draw("gala", "ann", "key").draw.unit_no == 1

    assert set(system.logger.events) >= {"campaign_altered"}
