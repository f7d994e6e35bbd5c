"""Erasure of a user: it needs an empty account, removes all personal data, and moves no money."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.errors import NotInAudience
from redpacket.campaigns.model import AudienceMode, audience_bucket
from redpacket.erasure.dynamodb.erasure import DynamoErasure
from redpacket.erasure.errors import AccountNotEmpty
from redpacket.erasure.model import OutsideRows
from redpacket.ledger.provider_name import ProviderName
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.operations.dynamodb import keys as operator_keys
from redpacket.operations.model.risk import RiskDecision, VerdictKind
from redpacket.packets.api.packet_ids import new_picture_id
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.model.packet import Packet
from redpacket.packets.model.picture import Picture
from redpacket.packets.model.thanks import Thanks
from redpacket.payments.model.authorization import AuthorizationStatus
from redpacket.payments.model.payments import PaymentStatus, Resolution, ResolvedBy, ReturnStatus
from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind
from redpacket.payments.model.withdrawals import (
    LEASE_MS,
    Withdrawal,
    WithdrawalStatus,
)
from redpacket.payments.use_cases.authorize import authorize
from redpacket.payments.use_cases.return_payment import collect_owed, note_refund
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import Unavailable
from redpacket.platform.user import User
from redpacket.users.ports import Profile
from testing.builders import a_campaign, a_prize
from testing.in_memory_system import InMemorySystem, an_order, one_by_one
from testing.payments.fake_gateway import an_account
from testing.payments.payment_system import PaymentSystem
from testing.platform.fake_tables import TABLE_NAMES, LateCopy

WECHAT = ProviderName.WECHAT
TEXT = "谢谢老板"
SECRETS = (
    TEXT,
    "ann@host",
    "Ann of the token",
    "Ann as she likes",
    "ann.png",
    "sealed-ann",
    "hash-ann",
)


@pytest.fixture
def system(town: PaymentSystem) -> InMemorySystem:
    return town.system


def _erase(system: InMemorySystem, user_id: str = "ann", note: Callable[[], Any] = bool) -> None:
    system.process().erase_user(user_id, note)


def _refusal(system: InMemorySystem, user_id: str = "ann") -> str:
    noted: list[str] = []
    with pytest.raises(AccountNotEmpty) as refused:
        _erase(system, user_id, lambda: noted.append("noted"))
    assert noted == []
    return str(refused.value)


def _kept(system: InMemorySystem) -> str:
    """Return the text of all rows that remain, all queued claims, and all log lines."""
    tables = [
        {key: row for key, row in table.items() if not _goes_away(system, row)}
        for table in system.dynamo.tables.values()
    ]
    return f"{tables} {system.queue.refs} {system.logger.lines}"


def _goes_away(system: InMemorySystem, row: dict[str, Any]) -> bool:
    """Return whether a row holds only its key and has expired."""
    ends_at_s = int(row.get("expires_at_s", {"N": "9" * 13})["N"])
    return ends_at_s <= system.clock.now_ms() // 1000 and row.keys() == {"pk", "sk", "expires_at_s"}


def _introduce(town: PaymentSystem) -> None:
    """Store ann's profile, and link her account at the provider."""
    system = town.system
    profiles = system.process().profiles
    profiles.note(User("ann", "Ann of the token", "ann@host"), system.clock.now_ms())
    profiles.put(Profile("ann", "Ann as she likes", "https://cdn.example/ann.png"))
    town.accounts.bind("ann", WECHAT, an_account("ann"), system.clock.now_ms())


# ---- erased data


def test_after_an_erasure_nothing_names_the_user(town: PaymentSystem) -> None:
    system = town.system
    _introduce(town)
    consent = authorize("ann", WECHAT, "Ann of the token", ports=town.authorizations)
    campaign = a_campaign(campaign_id="gala")
    assert system.campaigns.create(campaign)
    system.audience_rows.edit("gala", ["ann", "bob"], [])
    # Money paid in, sent, received, and withdrawn.
    town.pay_in("ann", 1000)
    packet = _sent_by(system, "ann", 1000)
    for user in ("ann", "bob", "bob2", "bob3"):
        system.grab(packet, user)
    claim = system.packets.find_share_of(packet.packet_id, "ann")
    assert claim
    system.pages.thanks.put(claim.ref, Thanks("🙏", TEXT))
    system.settle()
    _withdraw_all(town, "ann")
    system.verdicts.put("ann", RiskDecision(VerdictKind.DENY, 10**13))
    kept_text = _kept(system)
    assert [secret for secret in SECRETS if secret not in kept_text] == []

    _erase(system)
    _erase(system)

    kept = _kept(system)
    assert [secret for secret in SECRETS if secret in kept] == []
    # Other users' data and movements of money stay.
    assert "bob@host" in kept
    assert "user:ann" in kept
    assert town.differences() == []
    assert system.audience_rows.list_members("gala", audience_bucket("ann")) == []
    assert town.accounts.find("ann", WECHAT) is None
    ending = town.consents.find(consent.number)
    assert ending
    assert ending.status is AuthorizationStatus.CLOSING
    assert town.consents.list_waiting(WECHAT, town.clock.now_ms(), 10) == [consent.number]
    # The sweep ends the consent at the provider.
    town.sweep()
    assert town.gateway.consents[consent.number].state == "closed"


def test_covers_of_the_user_are_deleted_and_those_of_others_stay(system: InMemorySystem) -> None:
    own, others = "A" * 22, "B" * 22
    for picture_id, owner in ((own, "ann"), (others, "bob")):
        system.pictures.put(picture_id, Picture(b"RIFF", "image/webp"), owner)
    for host, picture_id in (("share", own), ("images", others)):
        cover_url = f"https://{host}.example/pictures/{picture_id}"
        packet = system.send("ann", total_fen=2, count=2, cover_url=cover_url)
        system.grab_all(packet, "bob", "cat")
    system.settle()

    _erase(system)

    assert system.pictures.owner_of(own) is None
    assert system.pictures.owner_of(others) == "bob"


def test_pictures_of_the_user_that_no_packet_uses_are_deleted(system: InMemorySystem) -> None:
    own, others = new_picture_id("ann"), new_picture_id("bob")
    for picture_id, owner in ((own, "ann"), (others, "bob")):
        system.pictures.put(picture_id, Picture(b"RIFF", "image/webp"), owner)

    _erase(system)

    assert system.pictures.owner_of(own) is None
    assert system.pictures.owner_of(others) == "bob"


def _sent_by(system: InMemorySystem, sender: str, total_fen: int, **changes: Any) -> Packet:
    return system.send_order(an_order(sender, key="of-ann", total_fen=total_fen, **changes))


def _withdraw_all(town: PaymentSystem, user_id: str) -> Withdrawal:
    withdrawal = town.withdraw(user_id, town.balance_fen(user_id))
    town.dispatch()
    town.sweep_after(LEASE_MS)
    paid = town.find(withdrawal)
    assert paid.status is WithdrawalStatus.PAID
    return paid


def test_an_interrupted_erasure_is_completed_by_a_repeat(town: PaymentSystem) -> None:
    system = town.system
    _introduce(town)
    town.pay_in("ann", 500)
    _withdraw_all(town, "ann")
    original, written, died = system.dynamo.update_item, 0, 0

    for number in range(5):

        def die(**arguments: Any) -> Any:
            nonlocal written
            written += 1
            if written > number:  # noqa: B023 - called within the loop
                raise KeyboardInterrupt
            return original(**arguments)

        written, system.dynamo.update_item = 0, die  # type: ignore[method-assign]
        try:
            _erase(system)
        except KeyboardInterrupt:
            died += 1
    system.dynamo.update_item = original  # type: ignore[method-assign]
    assert died >= 3

    for user in ("ann", "who is not known"):
        _erase(system, user)

    kept = _kept(system)
    assert [secret for secret in SECRETS if secret in kept] == []
    assert town.differences() == []


# ---- reasons against an erasure


NOT_EMPTY = "The balance is not 0. Withdraw it first, or move campaign money."
NOT_ENDED = "The user has a packet that has not ended. Try again later."
PENDING = "The user has a pending payment. Try again later."


@pytest.mark.parametrize(
    ("begin", "refusal"),
    [
        (lambda town: town.system.deposit("ann", 1), NOT_EMPTY),
        (lambda town: town.send_unpaid("ann"), NOT_ENDED),
        (lambda town: town.start("ann", 100), PENDING),
    ],
)
def test_a_user_with_money_cannot_be_erased(
    town: PaymentSystem, begin: Callable[[PaymentSystem], object], refusal: str
) -> None:
    _introduce(town)
    begin(town)

    assert _refusal(town.system) == refusal
    assert town.system.host_ids()["ann"] == "ann@host"
    assert town.accounts.find("ann", WECHAT)


def test_a_running_packet_prevents_the_erasure_of_its_sender(system: InMemorySystem) -> None:
    packet = system.send("ann", total_fen=100, count=1)
    assert _refusal(system) == NOT_ENDED

    system.grab(packet, "bob")
    assert _refusal(system) == NOT_ENDED
    system.settle()

    _erase(system)
    assert "ann" not in system.host_ids()


def test_a_packet_of_a_campaign_prevents_the_erasure_of_its_sender(system: InMemorySystem) -> None:
    packet = system.send_of(system.rain(), "ann", total_fen=100, count=1)

    assert _refusal(system) == NOT_ENDED

    system.grab(packet, "bob")
    system.settle()
    _erase(system)


def test_cash_prizes_prevent_the_erasure_of_their_funder(system: InMemorySystem) -> None:
    assert system.campaigns.create(a_campaign(campaign_id="gala"))
    system.deposit("operator", 50)
    system.put_prize(a_prize("gala", "cash", kind=PrizeKind.PACKET, amount_fen=10, total=5))

    assert _refusal(system, "operator") == NOT_ENDED


def test_an_unsettled_claim_prevents_the_erasure_of_its_claimer(system: InMemorySystem) -> None:
    for count in range(2):
        packet = system.send("bob", total_fen=100, count=2)
        system.grab(packet, "ann")
        if count == 0:
            system.settle()
            _spend(system, "ann")

    assert _refusal(system) == "The user has an unsettled claim. Try again later."


def _spend(system: InMemorySystem, user_id: str) -> None:
    """Move all of a user's money to a friend."""
    fen = system.balance_fen(user_id)
    packet = _sent_by(system, user_id, fen, count=1)
    system.grab(packet, "friend")
    system.settle()


def test_a_payment_being_returned_prevents_the_erasure_of_its_payer(town: PaymentSystem) -> None:
    payment = town.pay_in("ann", 100)
    town.pay_again(payment)
    _spend(town.system, "ann")

    assert _refusal(town.system) == PENDING
    town.sweep()
    _erase(town.system)


@pytest.mark.parametrize("status", ReturnStatus)
def test_money_that_cannot_be_returned_prevents_the_erasure_of_its_payer(
    town: PaymentSystem, status: ReturnStatus
) -> None:
    payment = town.pay_in("ann", 100)
    town.pay_again(payment)
    _spend(town.system, "ann")
    if status is ReturnStatus.DONE:
        town.sweep()
    elif status in {ReturnStatus.LISTED, ReturnStatus.RESOLVED}:
        (due,) = town.returns.list_returns(payment.number)
        town.returns.list_return(due)
        if status is ReturnStatus.RESOLVED:
            ids = due.number, due.transaction_id
            resolution = Resolution(*ids, ResolvedBy.OUTSIDE, "bank-transfer-77", "")
            town.resolve(resolution)
    elif status is ReturnStatus.REFUNDED:
        second = town.gateway.orders[payment.number].transactions[1]
        note_refund(WECHAT, town.gateway.refund_paid(second, 100), ports=town.payments)
    assert [
        payment_return.status for payment_return in town.returns.list_returns(payment.number)
    ] == [status]

    if status not in {ReturnStatus.DUE, ReturnStatus.LISTED}:
        _erase(town.system)
    else:
        assert _refusal(town.system) == PENDING


def test_a_payment_that_differs_from_its_order_prevents_the_erasure_of_its_payer(
    town: PaymentSystem,
) -> None:
    payment = town.start("ann", 100)
    town.gateway.pay(payment.number, amount_fen=99)
    town.confirm(payment)
    town.system.pass_time(3_600_000)
    town.confirm(payment)
    assert town.paid(payment).status is not PaymentStatus.PENDING

    assert _refusal(town.system) == PENDING


@pytest.mark.parametrize("collected_fen", [0, 59, 60])
def test_a_debt_prevents_the_erasure_of_its_debtor(town: PaymentSystem, collected_fen: int) -> None:
    payment = town.pay_in("ann", 100)
    packet = _sent_by(town.system, "ann", 60, count=1)
    town.system.grab(packet, "friend")
    town.system.settle()
    town.refund(payment, 100)
    if collected_fen:
        town.system.deposit("ann", collected_fen)
        collect_owed("ann", ports=town.payments)
    assert town.balance_fen("ann") == 0

    if collected_fen == 60:
        _erase(town.system)
    else:
        assert _refusal(town.system) == "The user owes money. Settle the debt first."


@pytest.mark.parametrize("what", ["packet", "payment", "withdrawal"])
def test_a_delayed_index_hides_nothing(town: PaymentSystem, what: str) -> None:
    system = town.system
    system.dynamo.indexes = LateCopy(system.clock.now_ms, 60_000)
    if what == "packet":
        system.send_of(system.rain(), "ann", total_fen=100, count=1)
    elif what == "payment":
        town.start("ann", 100)
    else:
        system.deposit("ann", 100)
        town.withdraw("ann", 100)

    with pytest.raises(Unavailable, match="not up to date"):
        _erase(system)

    system.pass_time(60_000)
    _refusal(system)


# ---- later events


def test_money_that_arrives_during_an_erasure_belongs_to_the_pseudonym(town: PaymentSystem) -> None:
    system = town.system
    _introduce(town)

    _erase(system, note=lambda: system.deposit("ann", 700))

    assert system.balance_fen("ann") == 700
    assert "ann" not in system.host_ids()
    assert town.differences() == []


def test_a_late_payment_belongs_to_the_pseudonym(town: PaymentSystem) -> None:
    system = town.system
    payment = town.start("ann", 100)
    system.pass_time(3_600_000)
    closed = town.confirm(payment)
    closed = town.confirm(closed)
    assert closed.status is PaymentStatus.CLOSED
    _erase(system)
    assert "sealed-ann" not in _kept(system)

    town.gateway.pay(payment.number, is_forced=True)
    town.confirm(payment)

    assert town.balance_fen("ann") == 100
    assert town.differences() == []


def test_an_older_message_does_not_restore_the_user(system: InMemorySystem) -> None:
    packet = system.send("bob", total_fen=100, count=1)
    share = system.grab(packet, "ann").share
    said_at_ms = system.clock.now_ms()
    claimer = User("ann", host_id="ann@host")
    ref = ShareRef(packet.packet_id, share.share_no, claimer, said_at_ms)
    system.queue.take_all()
    assert system.settle([ref]) == set()
    assert system.host_ids()["ann"] == "ann@host"
    _spend(system, "ann")
    system.pass_time(1_000)

    _erase(system)
    assert system.settle([ref]) == set()
    assert "ann" not in system.host_ids()

    # A later action of the user writes a new profile.
    again = replace(ref, said_at_ms=system.clock.now_ms() + 1)
    assert system.settle([again]) == set()
    assert system.host_ids()["ann"] == "ann@host"


def test_an_account_at_a_gateway_can_be_bound_again_afterwards(town: PaymentSystem) -> None:
    _introduce(town)
    _erase(town.system)

    bound = town.accounts.bind("bob", WECHAT, an_account("ann"), town.clock.now_ms())
    again = town.accounts.bind("ann", WECHAT, an_account("new"), town.clock.now_ms())

    assert (bound.opens_at_ms, again.opens_at_ms) == (0, 0)
    payee = town.accounts.find("ann", WECHAT)
    assert payee
    assert payee.account == an_account("new")


def test_a_concurrent_binding_is_detected(town: PaymentSystem) -> None:
    _introduce(town)
    system = town.system

    system.before_first_transaction(
        lambda _: town.accounts.bind("ann", WECHAT, an_account("other"), town.clock.now_ms())
    )
    with pytest.raises(Unavailable):
        _erase(system)
    _erase(system)

    assert town.accounts.find("ann", WECHAT) is None
    assert "sealed-" not in _kept(system)


def test_risk_decisions_and_list_entries_end_with_the_erasure(system: InMemorySystem) -> None:
    campaign = system.rain()
    system.audience_rows.edit(campaign.campaign_id, ["ann", "bob"], [])
    system.audience_rows.set_mode(campaign.campaign_id, AudienceMode.DENY, 1)
    system.verdicts.put("ann", RiskDecision(VerdictKind.DENY, 10**13))
    packet = system.send_of(campaign, total_fen=900, count=3)

    _erase(system)

    assert system.audience_rows.edit(campaign.campaign_id, [], []) == 1
    system.grab(packet, "ann")
    with pytest.raises(NotInAudience):
        system.grab(packet, "bob")


def test_an_erasure_creates_no_row_for_a_user_without_a_risk_decision(
    system: InMemorySystem,
) -> None:
    _erase(system)

    key = {name: {"S": value} for name, value in operator_keys.verdict("ann").items()}
    row = system.dynamo.get_item(TableName=TABLE_NAMES.audience, Key=key, ConsistentRead=True)
    assert "Item" not in row


def test_a_returned_withdrawal_does_not_count(town: PaymentSystem) -> None:
    town.system.deposit("ann", 100)
    withdrawal = town.withdraw("ann", 100)
    town.cancel(withdrawal)
    assert _refusal(town.system) == "The user has a pending withdrawal. Try again later."
    town.sweep()
    assert town.find(withdrawal).is_final
    _spend(town.system, "ann")

    _erase(town.system)

    assert "sealed-ann" not in _kept(town.system)


def test_the_audit_log_names_users_only_by_their_pseudonym(system: InMemorySystem) -> None:
    system.deposit("ann", 10)
    _spend(system, "ann")
    _erase(system)

    audit_log = str(dict(system.dynamo.tables["journal"]))

    assert "user:ann" in audit_log
    assert "@host" not in audit_log


@pytest.mark.parametrize("is_agreed", [False, True])
def test_names_in_use_are_kept(town: PaymentSystem, *, is_agreed: bool) -> None:
    _introduce(town)
    consent = authorize("ann", WECHAT, "Ann of the token", ports=town.authorizations)
    if is_agreed:
        town.gateway.agree(consent.number)
        town.follow(ProviderEvent(ProviderEventKind.AUTHORIZATION, "notice", consent.number))
    payment = town.start("ann", 100)
    town.system.deposit("ann", 100)
    withdrawal = town.withdraw("ann", 100)
    # The payment and the withdrawal began after the account was found empty. The rows named "gone"
    # do not exist.
    rows = OutsideRows(
        [payment, replace(payment, number="gone")],
        [withdrawal, replace(withdrawal, withdrawal_id="gone")],
        [consent.number, "gone"],
        *({}, 0, 0),
    )
    before = deepcopy(town.system.dynamo.tables["payments"])

    erasure = DynamoErasure(Dynamo(lambda: town.system.dynamo, TABLE_NAMES), one_by_one)
    erasure.erase_outside(rows)

    assert town.system.dynamo.tables["payments"] == before
