"""Commands, messages and taps of members, on the whole system in memory."""

import json
from dataclasses import replace
from typing import Any

import pytest

from redpacket.chat.api.calls import call_ports
from redpacket.chat.connector_name import ConnectorName
from redpacket.chat.errors import ChatBusy
from redpacket.chat.model import Chat
from redpacket.chat.use_cases.handle_call import handle_call
from redpacket.containers import containers
from redpacket.operations.model.limits import READS, SENDS, Limit
from redpacket.operations.model.switches import Switch
from redpacket.packets.errors import NotInvited, PacketNotFound
from redpacket.packets.model.claim import Quota, RecordStatus, Share
from redpacket.packets.model.packet import Opening, PacketStatus, Rules
from redpacket.packets.use_cases.read_records import read_record
from redpacket.packets.use_cases.send_packet import SendPorts
from redpacket.payments.errors import SignatureInvalid
from redpacket.platform.errors import Unavailable
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from testing.chat_system import GROUP, MEMBER_DAY_FEN, PIGEON, ChatSystem, a_chat
from testing.in_memory_system import PlainIds
from tests.unit.chat.connecting import TELEGRAM, Platform
from tests.unit.chat.test_telegram import HEADER

SENT = "/hongbao 8.88 3 恭喜发财"


def test_a_packet_moves_money_from_a_member_to_the_users_who_tap(loft: ChatSystem) -> None:
    loft.write("ann", SENT)
    packet_id = loft.packet_id()

    seen = [loft.tap(name, packet_id) for name in ("bob", "cat", "dan", "eve")]
    loft.system.settle()

    assert loft.balance_fen("ann") == 10_000 - 888
    assert sum(map(loft.balance_fen, ("bob", "cat", "dan"))) == 888
    assert seen[0] == f"🎉 You got ¥{loft.balance_fen('bob') / 100:.2f}"
    assert seen[3] == "Too late: all shares are taken"
    assert loft.loft.cards == {"m-1": ["🧧 Red packet of ann\n恭喜发财\n0 of 3 taken of ¥8.88"]}


def test_a_second_tap_shows_the_same_amount(loft: ChatSystem) -> None:
    loft.write("ann", SENT)

    first, second = (loft.tap("bob", loft.packet_id()) for _ in range(2))

    assert second == first.replace("🎉 You got", "You already have your share:")


def test_a_redelivered_command_sends_once_and_posts_one_card(loft: ChatSystem) -> None:
    for _ in range(3):
        loft.write("ann", SENT, message="w-0")

    assert loft.balance_fen("ann") == 10_000 - 888
    assert len(loft.loft.cards) == 1


def test_two_concurrent_deliveries_of_a_command_send_once_and_count_once(loft: ChatSystem) -> None:
    ports_of, text = containers.chat.send_ports_of, "/hongbao 30 3"
    deliveries = [lambda: loft.write("ann", text, message="w-0")]

    def find_nothing(_: Request) -> None:
        """Find no earlier packet; then the other delivery overtakes this one."""
        if deliveries:
            deliveries.pop()()

    def slow_ports_of(chat: Chat) -> SendPorts:
        ports = ports_of(chat)
        vars(ports.funding)["find_sent"] = find_nothing
        return ports

    vars(containers.chat)["send_ports_of"] = slow_ports_of
    loft.write("ann", text, message="w-0")
    loft.write("ann", "/hongbao 20 3")

    find_packet_id = containers.chat.chats.find_packet_id
    packet_ids = {find_packet_id(PIGEON, GROUP, message_id) for message_id in loft.loft.cards}
    assert loft.balance_fen("ann") == 10_000 - MEMBER_DAY_FEN
    assert len(packet_ids) == 2


def test_a_message_of_another_chat_with_the_same_number_is_another_send(loft: ChatSystem) -> None:
    loft.admit(a_chat("g-2"))

    for chat in (GROUP, "g-2"):
        loft.write("ann", SENT, message="w-0", chat=chat)

    assert loft.balance_fen("ann") == 10_000 - 2 * 888


def test_a_card_that_was_not_posted_is_posted_when_the_command_is_redelivered(
    loft: ChatSystem,
) -> None:
    loft.loft.answers = [None]
    with pytest.raises(Unavailable):
        loft.write("ann", SENT, message="w-0")
    loft.loft.answers = [429]
    with pytest.raises(ChatBusy):
        loft.write("ann", SENT, message="w-0")

    # Lower limits and switched-off sends do not affect a packet that already exists.
    loft.admit(a_chat(day_fen=1))
    loft.switch_off(Switch.SEND)
    loft.write("ann", SENT, message="w-0")

    assert loft.balance_fen("ann") == 10_000 - 888
    assert len(loft.loft.cards) == 1
    assert loft.private("ann") == []


@pytest.mark.parametrize("text", [f"{SENT}\ud800", "/hongbao 8.88 3 passphrase=\udfff"])
def test_half_a_character_is_refused_like_others(loft: ChatSystem, text: str) -> None:
    loft.write("ann", text)

    assert len(loft.private("ann")) == 1
    assert loft.balance_fen("ann") == 10_000


def test_another_text_in_the_same_form_sends_nothing_more(loft: ChatSystem) -> None:
    loft.write("ann", SENT, message="form-1")

    loft.write("ann", "/hongbao 9.99 3", message="form-1")

    assert loft.private("ann") == ["This form was already used"]
    assert loft.balance_fen("ann") == 10_000 - 888


@pytest.mark.parametrize(
    ("answer", "told"), [(None, "Not sure yet. Tap again: it counts once"), (429, "Too fast")]
)
def test_a_form_whose_card_was_not_posted_reports_it_and_its_repeat_posts_the_card(
    loft: ChatSystem, answer: int | None, told: str
) -> None:
    loft.loft.answers = [answer]

    first, second = (loft.write("ann", SENT, message="f-1", form=True) for _ in range(2))

    assert first["coo"].startswith(told)
    assert second == {}
    assert loft.balance_fen("ann") == 10_000 - 888
    assert len(loft.loft.cards) == 1


@pytest.mark.parametrize(
    ("text", "chat", "told"),
    [
        ("/hongbao ? ?", GROUP, "Send: /hongbao 88.88 10"),
        ("/hongbao 1 101", GROUP, "Nothing was sent. Check: shares"),
        (SENT, "g-2", "Packets are not enabled in this chat"),
    ],
)
def test_a_refused_form_is_answered_like_a_tap(
    loft: ChatSystem, text: str, chat: str, told: str
) -> None:
    answers = [loft.write("ann", text, chat=chat, form=True)["coo"] for _ in range(2)]

    assert [each.startswith(told) for each in answers] == [True, True]
    assert (loft.loft.said, loft.loft.cards) == ([], {})


def test_a_chat_without_the_bot_gets_no_card_and_the_money_is_refunded(loft: ChatSystem) -> None:
    loft.loft.answers = [404]

    loft.write("ann", SENT)
    loft.system.pass_time(25 * 3_600_000)
    loft.system.sweep()
    loft.system.pass_time(60_000)
    loft.system.sweep()

    assert loft.balance_fen("ann") == 10_000
    assert [name for name, _ in loft.system.logger.errors] == ["card_not_posted"]
    assert loft.private("ann") == [
        "The card could not be posted. The packet returns to you when it expires"
    ]


@pytest.mark.parametrize("text", ["/hongbao", "/hongbao 8.88", "/packet x 3", "/packet 1 3.5"])
def test_the_answer_to_an_unreadable_command_shows_the_syntax(loft: ChatSystem, text: str) -> None:
    loft.write("ann", text)

    (told,) = loft.private("ann")
    assert told.startswith("Send: /hongbao 88.88 10 Good luck")
    assert loft.loft.cards == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/hongbao 8.88 101", "Nothing was sent. Check: shares"),
        ("/hongbao 0.02 3", "The amount can't be split into so many shares"),
        (f"/hongbao 1 3 {'好' * 51}", "Nothing was sent. Check: greeting"),
        ("/hongbao 1 3 passphrase=!!", "Nothing was sent. Check: passphrase"),
        ("/hongbao 201 1", "The amount can't be split into so many shares"),
    ],
)
def test_a_refused_packet_gives_the_reason_to_its_sender_alone(
    loft: ChatSystem, text: str, told: str
) -> None:
    loft.admit(a_chat(day_fen=10**6))

    assert loft.write("ann", text) == {}

    assert loft.private("ann") == [told]
    assert loft.balance_fen("ann") == 10_000


def test_a_member_without_money_sends_nothing_and_uses_up_no_limit(loft: ChatSystem) -> None:
    for _ in range(5):
        loft.write("bob", "/hongbao 40 3")

    loft.write("ann", "/hongbao 40 3")

    assert loft.private("bob") == ["Your balance is too low"] * 5
    assert loft.balance_fen("ann") == 6_000


def test_limits_of_a_chat_and_of_a_member_apply_for_a_day(loft: ChatSystem) -> None:
    for name in ("bob", "cat"):
        loft.deposit(name, 10_000)
    sent = [("ann", 30), ("ann", 30), ("ann", 20), ("bob", 50), ("cat", 1), ("cat", 51)]

    for name, yuan in sent:
        loft.write(name, f"/hongbao {yuan} 3")
    spent = [10_000 - loft.balance_fen(name) for name in ("ann", "bob", "cat")]
    loft.system.pass_time(24 * 3_600_000)
    loft.write("ann", "/hongbao 50 3")

    assert spent == [MEMBER_DAY_FEN, MEMBER_DAY_FEN, 0]
    refused = "This exceeds today's limit for the chat or for you. Send it on the page: "
    assert loft.private("ann") == [f"{refused}https://share.example"]
    assert loft.private("cat") == [f"{refused}https://share.example"] * 2
    assert loft.balance_fen("ann") == 0


def test_a_redelivered_command_counts_once_toward_the_limits(loft: ChatSystem) -> None:
    for _ in range(3):
        loft.write("ann", "/hongbao 30 3", message="w-0")

    loft.write("ann", "/hongbao 20 3")

    assert loft.balance_fen("ann") == 10_000 - MEMBER_DAY_FEN


def test_a_foreign_group_is_shown_how_to_get_admitted_once_in_ten_seconds(loft: ChatSystem) -> None:
    loft.deposit("eve", 1_000)

    loft.write("eve", "hello", chat="g 2")
    told = [loft.write("eve", SENT, chat="g 2") for _ in range(3)]

    assert told == [{}] * 3
    (text,) = loft.private("eve")
    assert text.split("\n") == [
        "Packets are not enabled in this chat. An operator can run:",
        "redpacket chat admit pigeon 'g 2' --title Loft --day-fen 100000 --language en",
    ]
    assert (loft.balance_fen("eve"), loft.loft.cards) == (1_000, {})
    # After ten seconds the bot explains again, for example to a member who had no private chat.
    loft.system.pass_time(10_000)
    loft.write("eve", "/help", chat="g 2")
    assert loft.private("eve") == [text] * 2


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("\u202e; rm -rf \u2066x", "'; rm -rf x'"),
        ("a\nb 'c'", """'a b '"'"'c'"'"''"""),
        ("群" * 200, f"'{'群' * 100}'"),
        ("\u200b", "'g 2'"),
    ],
)
def test_the_title_of_a_foreign_group_hides_nothing_in_an_operators_command(
    loft: ChatSystem, title: str, shown: str
) -> None:
    loft.write("eve", "/help", chat="g 2", title=title)

    assert f" --title {shown} --day-fen " in loft.private("eve")[0]


def test_taps_in_a_group_that_is_not_admitted_claim_nothing(loft: ChatSystem) -> None:
    loft.write("ann", SENT)

    assert loft.tap("bob", loft.packet_id(), chat="g-2") == "Packets are not enabled in this chat"
    assert loft.system.queue.refs == []


# ---------------------------------------------------------------- membership


def test_a_tap_from_another_chat_and_the_link_are_refused(loft: ChatSystem) -> None:
    loft.admit(a_chat("g-2"))
    loft.write("ann", SENT)
    packet_id = loft.packet_id()

    elsewhere = loft.tap("eve", packet_id, chat="g-2")
    for user in (User("eve"), loft.user("bob"), User("eve", chat_id=GROUP)):
        with pytest.raises(NotInvited):
            loft.system.process().grab_packet(packet_id, user, None)

    assert elsewhere == "This packet does not exist"
    assert loft.tap("bob", packet_id).startswith("🎉")


def test_only_its_sender_can_read_the_record_of_a_chat_packet(loft: ChatSystem) -> None:
    loft.write("ann", SENT)
    packet_id, system = loft.packet_id(), loft.system

    def reads(viewer: User | None) -> bool:
        packets, pages = system.packets, system.pages
        try:
            read_record(packet_id, viewer, after_no=0, limit=9, packets=packets, pages=pages)
        except PacketNotFound:
            return False
        return True

    assert [*map(reads, (None, User("eve"), loft.user("ann")))] == [False, False, True]


def test_an_owner_keeps_the_share_in_every_chat(loft: ChatSystem) -> None:
    loft.write("ann", SENT)
    loft.tap("bob", loft.packet_id())

    claim = loft.system.process().grab_packet(loft.packet_id(), loft.user("bob"), None)

    assert not claim.is_new


def test_a_sender_can_allow_the_link(loft: ChatSystem) -> None:
    loft.write("ann", f"{SENT} +link")
    packet_id = loft.packet_id()

    claim = loft.system.process().grab_packet(packet_id, User("eve", host_id="eve@host"), None)

    assert claim.is_new
    packet = loft.system.packets.find_packet(packet_id)
    assert packet
    assert (packet.greeting, packet.has_card, packet.rules) == ("恭喜发财", True, Rules())


def test_a_forged_tap_cannot_claim_a_packet_whose_card_is_elsewhere(loft: ChatSystem) -> None:
    loft.admit(a_chat("g-2"))
    loft.write("ann", f"{SENT} +link", chat="g-2")
    linked = containers.chat.chats.find_packet_id(PIGEON, "g-2", "m-1")
    rules = Rules(), Rules(opening=Opening.TWO_STEP), Rules(recipients=frozenset({"zoe"}))
    of_the_page = [loft.system.send(rules=each).packet_id for each in rules]

    told = {loft.tap("bob", packet_id) for packet_id in ("no-packet", linked or "", *of_the_page)}

    assert told == {"This packet does not exist"}
    assert loft.system.queue.refs == []
    assert loft.tap("bob", linked or "", chat="g-2").startswith("🎉")


def test_a_call_without_the_signature_of_the_platform_has_no_effect(loft: ChatSystem) -> None:
    loft.bot._word = "other"

    with pytest.raises(SignatureInvalid):
        loft.write("ann", SENT)


# ---------------------------------------------------------------- taps


class LostAnswer:
    """Recorder whose first answer is lost, before or after it records the claim."""

    def __init__(self, recorder: Any, *, is_recorded: bool) -> None:
        self.record, self.is_recorded, self.is_lost = recorder.record_claim, is_recorded, False

    def record_claim(self, share: Share, counted: Quota | None) -> RecordStatus:
        """Record a claim."""
        if not self.is_lost:
            self.is_lost = True
            if self.is_recorded:
                self.record(share, counted)
            raise Unavailable("no answer")
        status: RecordStatus = self.record(share, counted)
        return status


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_tap_with_an_unknown_outcome_asks_for_a_safe_repeat(
    loft: ChatSystem, *, is_recorded: bool
) -> None:
    loft.write("ann", SENT)
    packet_id, system = loft.packet_id(), loft.system
    lost = LostAnswer(containers.packets.recorder, is_recorded=is_recorded)
    vars(containers.packets)["recorder"] = lost

    first, second, third = (loft.tap("bob", packet_id) for _ in range(3))
    system.sweep()
    system.pass_time(5 * 60_000)
    system.sweep()
    system.settle()

    assert first == "Not sure yet. Tap again: it counts once"
    assert (system.logger.errors[0][0], system.logger.counts["unavailable"]) == (
        "chat_call_failed",
        1,
    )
    assert second.startswith("You already have" if is_recorded else "🎉 You got")
    assert third.startswith("You already have")
    assert third[-5:] == second[-5:] == f"¥{loft.balance_fen('bob') / 100:.2f}"
    assert len(system.packets.list_shard_shares(packet_id, 0)) == 1


def test_taps_are_refused_while_grabs_are_switched_off(loft: ChatSystem) -> None:
    loft.write("ann", SENT)
    loft.switch_off(Switch.GRAB)

    assert loft.tap("bob", loft.packet_id()) == "Paused. Nothing is lost. Try again later"


def test_an_invented_packet_id_does_not_reach_the_cache(loft: ChatSystem) -> None:
    vars(containers.packets)["claim_ports"] = None

    assert loft.tap("bob", "made-up") == "This packet does not exist"


@pytest.mark.parametrize(("text", "limit"), [("/balance", READS), ("/packet 0.03 3", SENDS)])
def test_a_member_who_writes_too_fast_is_told_to_wait(
    loft: ChatSystem, text: str, limit: Limit
) -> None:
    told = []
    for _ in range(limit.burst + 1):
        loft.write("bob", text)
        told = loft.private("bob")

    assert told.index("Too fast. Try again later") == limit.burst


# ---------------------------------------------------------------- words


def test_a_passphrase_is_sent_as_a_reply_to_its_card(loft: ChatSystem) -> None:
    loft.write("ann", "/hongbao 8.88 3 口令=芝麻开门 open it")
    packet_id = loft.packet_id()
    assert loft.tap("bob", packet_id) == "🔑 Reply to this packet with its passphrase"

    loft.write("bob", "芝麻关门", answers="m-1")
    loft.write("bob", "芝麻开门", answers="m-1")
    loft.write("cat", "芝麻开门")

    wrong, right = loft.private("bob")
    assert (wrong, right[:9]) == ("Wrong words. Reply to the packet again", "🎉 You got")
    assert loft.private("cat") == []
    (card,) = loft.loft.cards["m-1"]
    assert "Reply to this packet with its passphrase" in card
    assert "芝麻" not in card


def test_replies_to_a_packet_without_a_passphrase_claim_nothing(
    loft: ChatSystem,
) -> None:
    loft.write("ann", SENT)

    loft.write("bob", "thank you", answers="m-1")
    loft.write("bob", "thank you", answers="m-99")

    assert (loft.private("bob"), loft.system.queue.refs) == ([], [])


# ---------------------------------------------------------------- other commands


def test_a_balance_and_help_are_shown_to_the_member_alone(loft: ChatSystem) -> None:
    loft.write("ann", "/balance")
    loft.write("ann", "/help", chat="ann")
    loft.write("ann", SENT, chat="ann")
    loft.write("ann", "/other", chat="ann")

    balance, usage, refused = loft.private("ann")

    assert balance == "Your balance: ¥100.00"
    assert "/balance" in usage
    assert refused == "Send packets in a group"


def test_a_group_that_telegram_migrates_stays_admitted_with_its_packets_and_limits(
    loft: ChatSystem,
) -> None:
    chats, telegram = containers.chat.chats, ConnectorName.TELEGRAM
    chat = loft.admit(Chat(telegram, "-5", "Loft", 4_000, "en", 1))
    platform = Platform([(200, {"ok": True, "result": {"message_id": 3}})])
    bot = telegram.connect(platform.environment(TELEGRAM))
    assert bot
    numbers = iter(range(1, 99))
    ann = {"id": 7, "first_name": "Ann"}
    request = Request("treasurer", "chat", "10000")
    user = User(PlainIds.id_of("telegram:7"), host_id="telegram:7")
    loft.system.process().deposit(user, 10_000, request)

    def call(chat_id: int, **update: Any) -> Any:
        message = {"message_id": next(numbers), "chat": {"id": chat_id}, "from": ann, **update}
        told = {"callback_query": update | {"message": message}} if "data" in update else message
        body = json.dumps(told if "data" in update else {"message": told}).encode()
        ports = call_ports()
        return handle_call(telegram, bot, {HEADER: TELEGRAM["telegram_secret"]}, body, ports=ports)

    call(-5, text="/hongbao 30 3")
    packet_id = chats.find_packet_id(telegram, "-5", "3")
    assert packet_id
    for _ in range(2):
        call(-5, migrate_to_chat_id=-1005)
    tap = call(-1005, **{"id": "9", "data": packet_id, "from": ann})
    call(-1005, text="/hongbao 30 3")

    assert tap["text"].startswith("🎉")
    assert "exceeds" in platform.calls[-1][2]["text"]
    assert loft.system.balance_fen(user.user_id) == 7_000
    assert chats.list_all() == [a_chat(), chat]
    assert loft.admit(replace(chat, day_fen=9_000)) == replace(chat, day_fen=9_000)


def test_an_expired_packet_refunds_unclaimed_shares(loft: ChatSystem) -> None:
    loft.write("ann", SENT)
    packet_id, system = loft.packet_id(), loft.system
    loft.tap("bob", packet_id)
    system.settle()

    system.pass_time(25 * 3_600_000)
    late = loft.tap("cat", packet_id)
    system.sweep()
    system.pass_time(60_000)
    system.sweep()

    assert late == "This packet has expired"
    packet = system.packets.find_packet(packet_id)
    assert packet
    assert packet.status is PacketStatus.CLOSED
    assert loft.balance_fen("ann") + loft.balance_fen("bob") == 10_000
