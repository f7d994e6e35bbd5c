"""Personal data: it is in one row per user, and other rows have an opaque id."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from local.user_ids import PUBLISHED_USER_IDS
from redpacket.ledger.errors import InsufficientFunds
from redpacket.packets.api.queue import settle_batch
from redpacket.packets.clients.sqs_payouts import settle_message
from redpacket.packets.errors import PacketEmptied
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.use_cases.settle_or_delay import delay_claims
from redpacket.platform.dynamodb.client import Dynamo, from_wire
from redpacket.platform.errors import Unavailable
from redpacket.platform.user import User
from redpacket.users.dynamodb.profiles import DynamoHostIds, DynamoProfiles
from redpacket.users.ports import Profile
from testing.builders import a_campaign, a_claim, a_packet_id, a_prize
from testing.fakes import Away
from testing.in_memory_system import InMemorySystem, PlainIds, an_order
from testing.lottery.prizes import write_prize
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.units import MeteredDynamo

ANN = User("ann", "安", "ann@host.example")


@pytest.fixture
def profiles(system: InMemorySystem) -> DynamoProfiles:
    return DynamoProfiles(Dynamo(lambda: system.dynamo, TABLE_NAMES), PlainIds.id_of)


def _row(system: InMemorySystem, user_id: str) -> dict[str, Any]:
    (row,) = [row for row in system.dynamo.tables["profiles"].values() if row["pk"]["S"] == user_id]
    return from_wire(row)


def _claim(system: InMemorySystem, claimer: User) -> ShareRef:
    packet = system.send(count=1)
    share = a_claim(packet, 1, claimer.user_id, claimer=claimer)
    system.recorder.record_claim(share)
    assert not system.settle([share.ref])
    return share.ref


def test_users_with_a_credit_send_or_claim_are_stored_and_losers_are_not(
    system: InMemorySystem,
) -> None:
    system.deposit("payee", 100)
    packet = system.send("sender", count=1)
    system.grab(packet, "taker")
    with pytest.raises(PacketEmptied):
        system.grab(packet, "loser")
    with pytest.raises(InsufficientFunds):
        system.send_order(an_order("poor"))
    system.settle()

    assert system.host_ids() == {name: f"{name}@host" for name in ("payee", "sender", "taker")}


def test_a_forgotten_user_is_stored_again_once_they_send(system: InMemorySystem) -> None:
    order = an_order("sender")
    system.deposit("sender", order.total_fen)
    system.dynamo.delete_item(TableName="profiles", Key={"pk": {"S": "sender"}})

    system.send_order(order)

    assert system.host_ids() == {"sender": "sender@host"}


def test_a_winner_is_stored_and_a_loser_is_not(system: InMemorySystem) -> None:
    assert system.campaigns.create(a_campaign(campaign_id="gala"))
    write_prize(system.prizes, a_prize("gala", total=1))

    system.draw("gala", "ann", "key")
    system.draw("gala", "bob", "key")

    (winner,) = [draw.user_id for draw in system.told_draws if draw.prize]
    assert system.host_ids().keys() == {winner}


def test_a_claim_stores_a_name_only_in_the_row_of_the_user(system: InMemorySystem) -> None:
    _claim(system, ANN)

    assert _row(system, "ann") == {
        "pk": "ann",
        "host_id": "ann@host.example",
        "token_nickname": "安",
    }
    for name, table in system.dynamo.tables.items():
        if name != "profiles":
            assert "host.example" not in str(list(table.values()))
            assert "安" not in str(list(table.values()))


def test_a_chosen_name_has_priority_over_the_name_of_the_token_and_the_host_id_stays(
    system: InMemorySystem, profiles: DynamoProfiles
) -> None:
    _claim(system, ANN)
    by_token = profiles.list_profiles(["ann"])["ann"]
    profiles.put(Profile("ann", "小安", "https://a.example/1"))
    chosen = profiles.list_profiles(["ann"])["ann"]
    profiles.put(Profile("ann", "大安"))
    without_avatar = profiles.list_profiles(["ann"])["ann"]
    assert _row(system, "ann")["host_id"] == "ann@host.example"
    _claim(system, ANN)

    assert by_token == Profile("ann", "安")
    assert chosen == Profile("ann", "小安", "https://a.example/1")
    assert without_avatar == Profile("ann", "大安") == profiles.list_profiles(["ann"])["ann"]
    assert _row(system, "ann")["host_id"] == "ann@host.example"


def test_a_token_without_a_name_keeps_the_existing_one_until_the_row_is_erased(
    system: InMemorySystem, profiles: DynamoProfiles
) -> None:
    _claim(system, ANN)
    _claim(system, User("ann", host_id="ann@host.example"))
    assert profiles.list_profiles(["ann"])["ann"].nickname == "安"
    system.dynamo.delete_item(TableName="profiles", Key={"pk": {"S": "ann"}})

    # The page then shows a name derived from the id.
    assert profiles.list_profiles(["ann"]) == {}
    assert system.host_ids().keys() == {"sender"}


def test_a_user_equals_any_user_with_their_id_and_prints_no_name() -> None:
    assert User("ann") == ANN
    assert str(ANN) == "User(user_id='ann')"


def test_a_row_that_could_not_be_written_is_retried_and_the_claim_is_paid_once(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = system.send(count=1)
    claim = system.grab(packet, "ann").share
    (ref,) = system.queue.take_all()

    with monkeypatch.context() as patch:
        patch.setattr(system.profiles, "note", Away(error=Unavailable).note)
        first = system.settle([ref])
    second = system.settle([ref])

    assert (first, second) == ({claim.ref}, set())
    assert system.balance_fen("ann") == claim.amount_fen
    assert system.host_ids()["ann"] == "ann@host"
    assert any(line.startswith("people_not_noted") for line in system.logger.lines)


def test_a_known_user_is_not_written_again(system: InMemorySystem) -> None:
    _claim(system, ANN)
    meter = MeteredDynamo(system.dynamo)
    profiles = DynamoProfiles(Dynamo(lambda: meter, TABLE_NAMES), PlainIds.id_of)

    assert profiles.list_unnoted([ANN, ANN]) == []
    assert (meter.written.total(), meter.units) == (0, 0.5)
    (renamed,) = profiles.list_unnoted([User("ann", "Ann", "ann@host.example")])
    profiles.note(renamed, 1)

    assert meter.written.total() == 1
    assert _row(system, "ann")["token_nickname"] == "Ann"


def test_while_payouts_are_off_a_message_keeps_its_claimer(system: InMemorySystem) -> None:
    system.grab(system.send(count=1), "ann")

    delay_claims(
        system.queue.take_all(),
        payouts=system.queue,
        logger=system.logger,
        now_ms=system.clock.now_ms(),
    )
    system.settle()

    assert system.host_ids()["ann"] == "ann@host"


# ---------------------------------------------------------------- messages


def _delivered(message: dict[str, Any]) -> User | None:
    """Return the claimer that the payout parses from a message."""
    share_refs: list[ShareRef] = []

    def settle(refs: Iterable[ShareRef]) -> set[ShareRef]:
        share_refs.extend(refs)
        return set()

    settle_batch([{"messageId": "1", "body": json.dumps(message)}], settle=settle)
    (ref,) = share_refs
    return ref.claimer


def _message(claimer: User | None) -> dict[str, Any]:
    return settle_message(ShareRef(a_packet_id(), 1, claimer), 0)


def test_a_message_names_the_claimer_and_the_user_id_is_computed_again() -> None:
    message = _message(User("whatever", "安", "ann@host.example"))

    claimer = _delivered(message)

    assert claimer
    assert claimer.user_id == PUBLISHED_USER_IDS.id_of("ann@host.example")
    assert (claimer.host_id, claimer.nickname) == ("ann@host.example", "安")
    assert "whatever" not in json.dumps(message)


@pytest.mark.parametrize(
    "claimer",
    [None, "ann", [], {}, {"host_id": "ann"}, {"host_id": 7, "nickname": None}]
    + [{"host_id": host_id, "nickname": None} for host_id in ("", "a b", "a" * 129)],
    ids=str,
)
def test_a_message_without_a_claimer_is_settled(claimer: object) -> None:
    assert _delivered({**_message(None), "taker": claimer}) is None
    assert _delivered(_message(None)) is None
    assert "taker" not in _message(User("of an outcome that was read"))


def test_a_name_in_a_token_that_resembles_a_reserved_one_is_not_stored(
    system: InMemorySystem, profiles: DynamoProfiles
) -> None:
    alike = User("eve", "\u041effici\u0430l s\u0435rvice", "eve@host.example")

    profiles.note(alike, 1)

    assert "token_nickname" not in _row(system, "eve")
    assert _row(system, "eve")["host_id"] == "eve@host.example"
    assert profiles.list_unnoted([alike]) == []


def test_the_host_id_of_an_altered_profile_is_shown_to_no_user(
    system: InMemorySystem, profiles: DynamoProfiles
) -> None:
    host_ids = DynamoHostIds(Dynamo(lambda: system.dynamo, TABLE_NAMES), PlainIds.id_of)
    for user_id, host_id in (("mallory", "cfo@host"), ("ann", "ann@host")):
        profiles.note(User(user_id, host_id=host_id), 1)

    users = profiles.list_users(["mallory", "ann"])

    assert {user.user_id: user.host_id for user in users.values()} == {
        "mallory": None,
        "ann": "ann@host",
    }
    assert host_ids.find(["mallory", "ann"]) == {"ann": "ann@host"}
