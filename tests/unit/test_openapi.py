"""openapi.json is what the code does: the same bytes, routes, problems and answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import jsonschema_rs
import pytest

from local import openapi
from local.user_ids import PUBLISHED_USER_IDS
from redpacket.domain.campaign import CampaignStatus
from redpacket.domain.checks.facts import Difference
from redpacket.domain.claim import Claim
from redpacket.domain.errors import InvalidRequest, RedPacketError, Rejected
from redpacket.domain.events import SUBSCRIBED, EventType
from redpacket.domain.gateway import Channel
from redpacket.domain.ledger import DEPOSITS, Entry, TransferKind, entries, user_account
from redpacket.domain.lottery import (
    Draw,
    HelpStatus,
    LotterySnapshot,
    Prize,
    PrizeKind,
    PrizeStock,
)
from redpacket.domain.packet import AmountsShown, PacketEnd, PacketStatus, Person
from redpacket.domain.payments import PaymentRefund, PaymentReturn, ReturnReason
from redpacket.domain.split import Split, amounts_fen
from redpacket.domain.switches import Switch, SwitchState
from redpacket.edge import lottery_views, payment_views, views, webhook_views
from redpacket.edge.pages import health
from redpacket.edge.problems import STATUS_BY_CODE, problem_of
from redpacket.edge.request import HttpRequest
from redpacket.edge.schemas.accounts import DepositBody, ProfileBody
from redpacket.edge.schemas.bodies import parse
from redpacket.edge.schemas.campaigns import CampaignBody
from redpacket.edge.schemas.claims import GrabBody
from redpacket.edge.schemas.draws import DrawBody, HelpBody
from redpacket.edge.schemas.operations import SwitchBody
from redpacket.edge.schemas.prizes import PrizeBody, StockBody
from redpacket.edge.schemas.sending import SendBody
from redpacket.edge.schemas.webhooks import EventName, WebhookBody
from redpacket.flows.campaigns.cached_lotteries import Lottery
from redpacket.flows.campaigns.draw_prize import Drawn
from redpacket.flows.campaigns.help_inviter import Helped
from redpacket.flows.campaigns.preheat_campaign import Preheated
from redpacket.flows.campaigns.read_draws import DrawPage, DrawProof, WatchedLottery
from redpacket.flows.packets.read_proof import Proof
from redpacket.flows.packets.read_records import PacketList, Record
from redpacket.flows.reconciliation.reconcile import Reconciliation
from redpacket.ports.accounts import Profile
from testing.builders import NOW_MS, a_campaign, a_claim, a_funding, a_packet
from testing.event_system import FAILED, EventSystem
from tests.unit.test_roles import ROLES

CONTRACT = json.loads(openapi.OPENAPI.read_text(encoding="utf-8"))
SCHEMAS = CONTRACT["components"]["schemas"]
ROUTES = [
    (f"{method.upper()} {path}", operation)
    for path, operations in CONTRACT["paths"].items()
    for method, operation in operations.items()
]

ME = Person(PUBLISHED_USER_IDS.id_of("me"), "小明")
HER = Person(PUBLISHED_USER_IDS.id_of("her"))
PEOPLE = views.People({HER.user_id: Profile(HER.user_id, "她", "https://a.example/1")})
PHONE = Prize(
    "spring", "phone", "手机", PrizeKind.GOODS, 3, 2, attributes='{"colour":"red","gb":256}'
)
CASH = Prize("spring", "cash", "红包", PrizeKind.PACKET, 5, 10, per_day=2, amount_fen=88)
A_DRAW = Draw("spring", "me", "0" * 32, "20270129", 1, NOW_MS, 2**52 - 1, "cash:5,phone:3|92", 7)
DIFFERENCES = [
    Difference("I1", "user:1", "balance", 1, 2),
    Difference("cache", "p", "held", "a", "b"),
]


def errors_in(name: str, value: Any) -> list[str]:
    """Return what is wrong with *value* as the schema *name*."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": CONTRACT["components"]}
    validator = jsonschema_rs.Draft202012Validator(schema)
    return [error.message for error in validator.iter_errors(json.loads(json.dumps(value)))]


# ---------------------------------------------------------------- the same as the code


def test_the_file_is_what_the_code_generates() -> None:
    written = openapi.OPENAPI.read_text(encoding="utf-8")

    assert written == openapi.text(), "run `make openapi`"


def test_the_file_has_exactly_the_routes_of_the_doors() -> None:
    assert {key for key, _ in ROUTES} == set(openapi.operations())


def test_every_problem_is_in_the_file_with_its_status() -> None:
    documented = {
        schema["properties"]["code"]["const"]: schema["properties"]["status"]["const"]
        for name, schema in SCHEMAS.items()
        if name.endswith("Problem")
    }

    assert documented == STATUS_BY_CODE


def test_every_problem_is_the_answer_of_some_route() -> None:
    answered = json.dumps(CONTRACT["components"]["responses"])

    unanswered = [
        code for code in STATUS_BY_CODE if f'schemas/{openapi.problem_name(code)}"' not in answered
    ]

    assert unanswered == []


def test_every_component_is_used_and_every_reference_leads_somewhere() -> None:
    kinds = CONTRACT["components"].items()
    named = {
        f"#/components/{kind}/{name}"
        for kind, components in kinds
        for name in components
        if kind != "securitySchemes"
    }

    assert named == {part.partition('"')[0] for part in json.dumps(CONTRACT).split('"$ref": "')[1:]}


OPEN_ROUTES = {
    "GET /health",
    "GET /transparency",
    "GET /transparency/proof",
    "GET /transparency/consistency",
    "GET /packets/{packet_id}/feed",
    "POST /auth/wechat",
    "POST /gateway/wechat/callback",
    "POST /gateway/host/callback",
}

FIXED_CODES = {
    "POST /me/payments": "payee_not_bound channel_unavailable switched_off unavailable",
    "GET /me/payments/{payment_id}": "payment_not_found",
    "POST /me/withdrawals": "insufficient_funds withdrawal_limit_reached payee_not_bound "
    "amount_too_small amount_too_large switched_off channel_unavailable",
    "GET /me/withdrawals/{withdrawal_id}": "withdrawal_not_found",
    "POST /me/withdrawals/{withdrawal_id}/cancel": "not_cancellable",
    "POST /me/wechat": "openid_in_use code_invalid",
    "POST /me/wechat/authorization": "payee_not_bound",
    "POST /auth/wechat": "code_invalid",
    "POST /gateway/wechat/callback": "signature_invalid",
    "POST /gateway/host/callback": "signature_invalid",
    "POST /packets": "idempotency_key_missing idempotency_key_in_use idempotency_key_reused "
    "invalid_request split_impossible insufficient_funds rate_limited switched_off",
    "POST /packets/{packet_id}/grab": "packet_not_found packet_not_started packet_emptied "
    "packet_expired not_invited passphrase_mismatch quota_exhausted rate_limited switched_off "
    "unavailable",
    "POST /packets/{packet_id}/open": "packet_not_found packet_emptied packet_expired "
    "grab_token_invalid rate_limited switched_off unavailable",
    "GET /packets/{packet_id}": "packet_not_found",
    "GET /packets/{packet_id}/feed": "packet_not_found",
    "GET /packets/{packet_id}/proof": "proof_not_ready",
    "GET /transparency/proof": "packet_not_found invalid_request",
    "GET /transparency/consistency": "invalid_request",
    "PUT /me/profile": "invalid_request",
    "GET /campaigns/{campaign_id}": "campaign_not_found",
    "POST /campaigns/{campaign_id}/draws": "campaign_not_found campaign_not_started "
    "campaign_ended campaign_paused attempts_exhausted rate_limited switched_off",
    "POST /campaigns/{campaign_id}/helps": "passphrase_mismatch help_quota_exhausted self_help",
    "POST /admin/deposits": "forbidden",
    "PUT /admin/campaigns/{campaign_id}": "version_conflict",
    "PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}": "version_conflict",
    "POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/stock": "version_conflict",
    "PUT /admin/switches/{name}": "switch_not_found",
}
"""What clients have relied on since 0.1.0."""


@pytest.mark.parametrize("key", FIXED_CODES)
def test_no_code_that_clients_know_has_gone(key: str) -> None:
    assert set(FIXED_CODES[key].split()) <= openapi.codes_of(openapi.operations()[key])


@pytest.mark.parametrize(("key", "operation"), ROUTES, ids=[key for key, _ in ROUTES])
def test_a_route_takes_a_body_where_its_method_writes(key: str, operation: dict[str, Any]) -> None:
    without_body = {
        "POST /admin/reconcile",
        "POST /admin/approvals/{approval_id}/approve",
        "POST /admin/approvals/{approval_id}/reject",
        "POST /admin/campaigns/{campaign_id}/preheat",
        "POST /admin/webhooks/{name}/secret",
        "POST /admin/webhooks/{name}/test",
        "POST /admin/webhooks/{name}/replay",
        "POST /me/withdrawals/{withdrawal_id}/cancel",
        "DELETE /me/wechat/authorization",
        "DELETE /admin/users/{user}",
        # Theirs is what the gateway signs, in a form of its own.
        "POST /gateway/wechat/callback",
        "POST /gateway/host/callback",
    }

    assert ("requestBody" in operation) == (not key.startswith("GET ") and key not in without_body)


def test_every_object_is_strict() -> None:
    def objects(schema: Any) -> list[Any]:
        if isinstance(schema, list):
            return [found for part in schema for found in objects(part)]
        if not isinstance(schema, dict):
            return []
        here = [schema] if schema.get("type") == "object" else []
        return here + [found for part in schema.values() for found in objects(part)]

    loose = [
        (name, found["additionalProperties"])
        for name, schema in SCHEMAS.items()
        for found in objects(schema)
        if found["additionalProperties"] is not False
    ]

    texts = {"type": "string"}
    lists = {"type": "array", "items": texts}
    # The host's wallet and the host's tokens have fields of their own.
    assert loose == [("CampaignAdmin", lists), ("HostPrompt", texts)]


@pytest.mark.parametrize(("key", "operation"), ROUTES, ids=[key for key, _ in ROUTES])
def test_a_route_says_who_may_ask(key: str, operation: dict[str, Any]) -> None:
    expected: Any = None
    if key in OPEN_ROUTES:
        expected = []
    elif "/admin/" in key:
        roles = ROLES[key].split()
        expected = [{"user": [f"hongbao/{role}"]} for role in ["admin", *roles]]

    assert operation.get("security") == expected
    # A callback is refused for its signature.
    assert ("401" in operation["responses"]) == (expected != [] or "/gateway/" in key)


@pytest.mark.parametrize(("key", "operation"), ROUTES, ids=[key for key, _ in ROUTES])
def test_a_route_names_the_parameters_of_its_path(key: str, operation: dict[str, Any]) -> None:
    parameters = [
        CONTRACT["components"]["parameters"][each["$ref"].rpartition("/")[2]]
        if "$ref" in each
        else each
        for each in operation.get("parameters", [])
    ]

    named = [parameter["name"] for parameter in parameters if parameter["in"] == "path"]

    assert named == [part[1:-1] for part in key.split("/") if part.startswith("{")]


# ---------------------------------------------------------------- what the views show


def _record(*, is_closed: bool, is_mine: bool) -> Record:
    packet = a_packet(count=3, sender=HER)
    first = a_claim(packet, 1, ME.user_id)
    second = replace(a_claim(packet, 2, HER.user_id), settled_at_ms=NOW_MS + 9)
    if is_closed:
        end = PacketEnd(claimed_count=2, refunded_count=1, refunded_fen=1, refunded_at_ms=NOW_MS)
        packet = replace(packet, status=PacketStatus.CLOSED, closed_at_ms=NOW_MS + 6, end=end)
    return Record(
        packet=packet,
        status=packet.status,
        claims=[first, second],
        next_no=2 if is_closed else None,
        claimed_count=2,
        claimed_fen=first.amount_fen + second.amount_fen,
        emptied_in_ms=5 if is_closed else None,
        luckiest=second if is_closed else None,
        mine=first if is_mine else None,
    )


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("is_mine", [False, True])
@pytest.mark.parametrize("amounts_shown", list(AmountsShown))
def test_a_record_page_is_of_its_form(
    amounts_shown: AmountsShown, *, is_closed: bool, is_mine: bool
) -> None:
    record = _record(is_closed=is_closed, is_mine=is_mine)
    packet = replace(record.packet, amounts_shown=amounts_shown)
    shown = views.record_view(replace(record, packet=packet), PEOPLE)

    assert errors_in("Record", shown) == []


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("amounts_shown", list(AmountsShown))
def test_a_feed_is_of_its_form(amounts_shown: AmountsShown, *, is_closed: bool) -> None:
    record = _record(is_closed=is_closed, is_mine=True)
    packet = replace(record.packet, amounts_shown=amounts_shown, cover_url="https://a.example/1")
    shown = views.feed_view(replace(record, packet=packet), PEOPLE)

    assert errors_in("Feed", shown) == []
    assert "user_token" not in str(shown)


@pytest.mark.parametrize("is_new", [False, True])
def test_a_claim_is_of_its_form(*, is_new: bool) -> None:
    share = a_claim(a_packet(), 1, "me")
    shown = views.claim_view(Claim(share, is_new=is_new))

    assert errors_in("Claim", shown) == []


def test_a_sent_packet_is_of_its_form() -> None:
    assert errors_in("SentPacket", views.sent_view(a_packet(), "https://api.example")) == []


@pytest.mark.parametrize("person", [ME, HER], ids=str)
def test_a_users_own_page_is_of_its_form(person: Person) -> None:
    assert errors_in("Me", {**PEOPLE.view(person), "balance_fen": 0}) == []


@pytest.mark.parametrize("status", list(PacketStatus))
def test_a_list_is_of_its_form(status: PacketStatus) -> None:
    page = PacketList([(a_packet().packet_id, 100, NOW_MS, status)], 100, 1, 1, "a cursor")

    for shown in (page, PacketList([], 0, 0, 0, None)):
        assert errors_in("Sent", views.sent_list_view(shown)) == []
        assert errors_in("Received", views.received_list_view(shown)) == []


def test_a_book_is_of_its_form() -> None:
    funding = entries(a_funding(a_packet()))
    deposit = Entry(user_account("me"), "deposit:1", TransferKind.DEPOSIT, 5, DEPOSITS, NOW_MS)

    shown = views.transfers_view([*funding, deposit], "entry#1795000000000#deposit:1")

    assert errors_in("Transfers", shown) == []


def test_a_proof_is_of_its_form() -> None:
    terms = a_packet(count=3).terms
    whole = views.proof_view(Proof(terms, 1, list(amounts_fen(terms)), None))
    page = views.proof_view(Proof(terms, 1, list(amounts_fen(terms))[:2], "2"))

    assert errors_in("Proof", whole) == errors_in("Proof", page) == []


@pytest.mark.parametrize("differences", [[], DIFFERENCES], ids=["none", "some"])
def test_what_operators_see_is_of_its_form(differences: list[Difference]) -> None:
    reconciled = views.reconciliation_view(Reconciliation(differences))

    assert errors_in("Audit", views.audit_view(differences)) == []
    assert errors_in("Reconciliation", reconciled) == []
    assert errors_in("Deposit", {"transfer_id": "deposit:1", "balance_fen": 1}) == []


def test_switches_are_of_their_form() -> None:
    turned = SwitchState(Switch.SEND, is_on=False, reason="维护", changed_at_ms=NOW_MS)
    states = [turned, SwitchState(Switch.GRAB)]

    assert errors_in("Switches", views.switches_view(states)) == []
    assert errors_in("Switch", views.switch_view(turned)) == []


@pytest.mark.parametrize("changes", [{}, {"passphrase": "恭喜发财", "budget_left_fen": 0}], ids=str)
def test_a_campaign_is_of_its_form(changes: dict[str, Any]) -> None:
    campaign = a_campaign(**changes)
    stock = PrizeStock("phone", durable_no=2, free=(1,), day_durable_no=1)
    prizes = PHONE, replace(CASH, status=CampaignStatus.OFF)
    table = LotterySnapshot(campaign.plan, prizes, 7, "0" * 64)

    for lottery in (
        Lottery(LotterySnapshot(campaign.plan, (), 1, "0" * 64), frozenset(), "20270129"),
        Lottery(table, frozenset(["phone"]), "20270129"),
    ):
        watched = WatchedLottery(campaign, lottery, {"phone": stock})
        assert errors_in("Campaign", lottery_views.campaign_view(lottery)) == []
        assert errors_in("CampaignAdmin", lottery_views.campaign_admin_view(watched)) == []


def test_users_see_no_weight_of_a_prize_that_is_off_and_no_stock() -> None:
    off = replace(CASH, status=CampaignStatus.OFF)
    stock = {"phone": PrizeStock("phone", durable_no=2)}
    campaign = a_campaign()
    table = LotterySnapshot(campaign.plan, (PHONE, off), 7, "0" * 64)
    lottery = Lottery(table, frozenset(["phone"]), "20270129")

    phone, cash = lottery_views.campaign_view(lottery)["prizes"]
    seen = lottery_views.campaign_admin_view(WatchedLottery(campaign, lottery, stock))["prizes"]

    assert (phone["weight"], cash["weight"]) == (3, None)
    assert (phone["is_sold_out"], cash["is_sold_out"]) == (True, False)
    assert not {"total", "per_day", "per_hour", "issued", "version"} & {*phone, *cash}
    assert [prize["weight"] for prize in seen] == [3, 5]
    assert [prize["issued"] for prize in seen] == [2, 0]


@pytest.mark.parametrize("prize", [None, PHONE, CASH], ids=["missed", "goods", "cash"])
@pytest.mark.parametrize("attempts_left", [None, 0, 3])
def test_a_draw_is_of_its_form(prize: Prize | None, attempts_left: int | None) -> None:
    draw = replace(A_DRAW, prize=prize, unit_no=1 if prize else 0)

    assert errors_in("Drawn", lottery_views.drawn_view(Drawn(draw, attempts_left))) == []
    for page in (DrawPage("A" * 24, [draw], draw.draw_id), DrawPage("A" * 24, [], None)):
        assert errors_in("Draws", lottery_views.draws_view(page)) == []


def test_a_proof_of_a_day_is_of_its_form() -> None:
    proof = DrawProof("spring", "20270129", b"a seed of 32 b.." * 2, "0" * 64)

    assert errors_in("DrawProof", lottery_views.draw_proof_view(proof)) == []


@pytest.mark.parametrize("attempts_left", [None, 3])
@pytest.mark.parametrize("status", [HelpStatus.HELPED, HelpStatus.HELPED_BEFORE])
def test_a_help_is_of_its_form(status: HelpStatus, attempts_left: int | None) -> None:
    assert errors_in("Helped", lottery_views.helped_view(Helped(status, attempts_left))) == []


@pytest.mark.parametrize("cursor", [None, a_packet().packet_id])
def test_a_preheat_is_of_its_form(cursor: str | None) -> None:
    assert errors_in("Preheated", views.preheated_view(Preheated(3, 2, cursor))) == []


def test_what_waits_for_a_person_is_of_its_form() -> None:
    number = "0" * 32
    returned = PaymentReturn(number, "tx", 99, ReturnReason.MISMATCHED, Channel.HOST, NOW_MS)
    refund = PaymentRefund(number, "console-1", "u" * 24, 40, 60, NOW_MS)

    returns = {"items": [payment_views.listed_return_view(returned)], "next": None}
    debts = {"items": [payment_views.debt_view(refund, 10)], "next": "0000000000000#x"}

    assert errors_in("ListedReturns", returns) == []
    assert errors_in("Debts", debts) == []


def test_webhooks_are_of_their_form() -> None:
    system = EventSystem()
    receiver = system.receiver("shop")
    receiver.answers = lambda _: FAILED
    made, secret = system.process().put_webhook("new", "https://a.example", SUBSCRIBED, is_on=False)
    tried = system.process().test_webhook("shop")
    system.system.send()
    system.run()
    found = system.process().watch_webhook("shop")
    _, counts, waiting = (
        found[0],
        found[1],
        system.process().waiting_list.list_due("shop", 2**60, 9),
    )

    shown = {**webhook_views.webhook_view(made), "secret": "whsec_" + "a" * 43 + "="}
    assert secret
    assert errors_in("Webhook", shown) == []
    assert errors_in("WebhookDetails", webhook_views.details_view(found[0], counts, waiting)) == []
    assert errors_in("TriedDelivery", webhook_views.attempt_view(tried)) == []


def test_events_are_of_the_form_that_receivers_are_promised() -> None:
    system, ann, bob = EventSystem(), ME.user_id, HER.user_id
    receiver = system.receiver("shop")
    packet = system.system.send(ann, count=2)
    for taker in (ann, bob):
        system.system.grab(packet, taker)
    system.system.settle()
    system.run()
    system.process().test_webhook("shop")

    kinds = {told["type"] for told in receiver.told}
    assert len(kinds) == 6
    for told in receiver.told:
        body = CONTRACT["webhooks"][told["type"]]["post"]["requestBody"]["content"]
        schema = {
            **body["application/cloudevents+json"]["schema"],
            "components": CONTRACT["components"],
        }
        found = [str(error) for error in jsonschema_rs.validator_for(schema).iter_errors(told)]
        assert found == [], told
    assert CONTRACT["webhooks"].keys() == set(EventType)
    assert set(get_args(EventName)) == set(SUBSCRIBED)


def test_the_health_page_is_of_its_form() -> None:
    shown = health(HttpRequest({}, {}, {}, {}, b"")).body

    assert errors_in("Health", shown) == []


def _errors() -> list[RedPacketError]:
    kinds = [*Rejected.__subclasses__(), *RedPacketError.__subclasses__()]
    # The simulation has a refusal of its own, which no door answers.
    ours = [kind for kind in kinds if kind.__module__.startswith("redpacket.")]
    refused = [kind for kind in ours if kind not in {Rejected, InvalidRequest}]
    invalid = InvalidRequest([{"field": "count", "message": "is above 100"}])
    return [invalid, *(kind("no") for kind in refused)]


@pytest.mark.parametrize("error", _errors(), ids=lambda error: error.code)
def test_a_problem_is_of_its_form(error: RedPacketError) -> None:
    status, _, body = problem_of(error, "a request's id")

    assert body["status"] == status
    assert errors_in(openapi.problem_name(error.code), body) == []


def test_all_problems_are_tried() -> None:
    assert {error.code for error in _errors()} == set(STATUS_BY_CODE)


def test_a_field_that_the_contract_does_not_name_is_noticed() -> None:
    assert errors_in("Health", {"status": "ok", "version": "1", "user_id": "me"})


# ---------------------------------------------------------------- what the bodies take

A_PRIZE = {"title": "手机", "kind": "goods", "weight": 3, "total": 2}
CASH_PRIZE = {"title": "红包", "kind": "packet", "weight": 3, "total": 2, "amount_fen": 88}
A_TOKEN = PUBLISHED_USER_IDS.id_of("bob")
A_CAMPAIGN = {"title": "雨", "starts_at_ms": 1, "ends_at_ms": 2, "status": "on"}

BODIES: list[tuple[str, type[Any], dict[str, Any]]] = [
    ("SendBody", SendBody, {"kind": "lucky", "total_fen": 100, "count": 3}),
    ("WebhookBody", WebhookBody, {"url": "https://a.example/x", "events": [SUBSCRIBED[0]]}),
    ("SendBody", SendBody, {"kind": "lucky", "total_fen": 1, "count": 1, "greeting": ""}),
    ("SendBody", SendBody, {"kind": "lucky", "total_fen": 1, "count": 1, "split": None}),
    *(
        (
            "SendBody",
            SendBody,
            {"kind": "lucky", "total_fen": 1, "count": 1, "split": split.value},
        )
        for split in Split
        if split is not Split.EQUAL
    ),
    (
        "SendBody",
        SendBody,
        {"kind": "equal", "total_fen": 10**6, "count": 10**6, "campaign_id": "rain-1"},
    ),
    ("CampaignBody", CampaignBody, A_CAMPAIGN),
    (
        "CampaignBody",
        CampaignBody,
        {
            **A_CAMPAIGN,
            "description": "a",
            "timezone": "UTC",
            "miss_weight": 5,
            "rules": {"attempts_per_user_per_day": 3, "wins_per_user_per_day": 1},
            "when_sold_out": "miss",
            "passphrase": "恭喜发财",
            "budget_fen": 0,
            "quota_per_user": 9,
            "amounts_shown": "live",
            "version": 1,
        },
    ),
    ("PrizeBody", PrizeBody, A_PRIZE),
    ("PrizeBody", PrizeBody, CASH_PRIZE),
    (
        "PrizeBody",
        PrizeBody,
        {
            **A_PRIZE,
            "per_day": 1,
            "per_hour": 1,
            "image_url": "https://a.example/1.png",
            "description": "256 GB",
            "attributes": {"colour": "red", "gb": 256, "new": True},
            "once_per_user": True,
            "status": "off",
            "version": 1,
        },
    ),
    ("StockBody", StockBody, {"delta": -5}),
    ("DrawBody", DrawBody, {}),
    ("HelpBody", HelpBody, {"inviter_token": A_TOKEN, "transcript": "恭喜发财"}),
    ("GrabBody", GrabBody, {}),
    ("GrabBody", GrabBody, {"passphrase": None}),
    ("DepositBody", DepositBody, {"user": "a@b.example|1", "amount_fen": 1}),
    ("SwitchBody", SwitchBody, {"on": False, "reason": "维护"}),
    ("SwitchBody", SwitchBody, {"on": True}),
    ("ProfileBody", ProfileBody, {"nickname": " 名 ", "avatar_url": "https://a.example"}),
]

NO_BODIES: list[tuple[str, type[Any], dict[str, Any]]] = [
    ("SendBody", SendBody, {"kind": "lucky", "total_fen": 100}),
    ("SendBody", SendBody, {"kind": "lucky", "total_fen": 0, "count": 1}),
    ("SendBody", SendBody, {"kind": "lucky", "total_fen": 1, "count": True}),
    ("SendBody", SendBody, {"kind": "l", "total_fen": 1, "count": 1, "more": 1}),
    (
        "SendBody",
        SendBody,
        {"kind": "lucky", "total_fen": 1, "count": 1, "greeting": " " * 401},
    ),
    (
        "SendBody",
        SendBody,
        {"kind": "lucky", "total_fen": 1, "count": 1, "campaign_id": "{rain}"},
    ),
    ("CampaignBody", CampaignBody, {**A_CAMPAIGN, "title": " "}),
    ("CampaignBody", CampaignBody, {**A_CAMPAIGN, "timezone": "localtime"}),
    ("CampaignBody", CampaignBody, {**A_CAMPAIGN, "ends_at_ms": 10**13}),
    ("CampaignBody", CampaignBody, {**A_CAMPAIGN, "rules": {"more": 1}}),
    ("CampaignBody", CampaignBody, {**A_CAMPAIGN, "budget_fen": 1.5}),
    ("CampaignBody", CampaignBody, {**A_CAMPAIGN, "prizes": []}),
    ("PrizeBody", PrizeBody, {**A_PRIZE, "weight": 1.5}),
    ("PrizeBody", PrizeBody, {**A_PRIZE, "total": -1}),
    ("PrizeBody", PrizeBody, {**A_PRIZE, "issued": 0}),
    ("PrizeBody", PrizeBody, {**A_PRIZE, "kind": "coupon"}),
    ("PrizeBody", PrizeBody, {**A_PRIZE, "image_url": "http://a.example"}),
    ("PrizeBody", PrizeBody, {**A_PRIZE, "attributes": {"a": [1]}}),
    ("PrizeBody", PrizeBody, {**A_PRIZE, "attributes": {"a b": 1}}),
    ("PrizeBody", PrizeBody, {**CASH_PRIZE, "amount_fen": 0}),
    ("StockBody", StockBody, {"delta": "1"}),
    ("StockBody", StockBody, {"total": 5}),
    ("DrawBody", DrawBody, {"prize_id": "phone"}),
    ("HelpBody", HelpBody, {"inviter_token": "short", "transcript": ""}),
    ("HelpBody", HelpBody, {"inviter_token": A_TOKEN}),
    ("GrabBody", GrabBody, {"passphrase": "a" * 201}),
    ("DepositBody", DepositBody, {"user": "-", "amount_fen": 1}),
    ("DepositBody", DepositBody, {"user": "a\n", "amount_fen": 1}),
    ("SwitchBody", SwitchBody, {}),
    ("SwitchBody", SwitchBody, {"on": 1}),
    ("SwitchBody", SwitchBody, {"on": True, "off": False}),
    ("ProfileBody", ProfileBody, {"nickname": " \u3000"}),
    ("ProfileBody", ProfileBody, {"nickname": "n", "avatar_url": "http://a.example"}),
]


@pytest.mark.parametrize(("name", "model", "body"), BODIES, ids=str)
def test_the_contract_admits_what_the_door_takes(name: str, model: Any, body: Any) -> None:
    assert errors_in(name, body) == []
    parse(model, body)


@pytest.mark.parametrize(("name", "model", "body"), NO_BODIES, ids=str)
def test_the_contract_refuses_what_the_door_refuses(name: str, model: Any, body: Any) -> None:
    assert errors_in(name, body)
    with pytest.raises(InvalidRequest):
        parse(model, body)
