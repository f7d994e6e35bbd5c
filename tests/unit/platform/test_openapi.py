"""File openapi.json: its bytes, routes, problems and answers agree with the code."""

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import jsonschema_rs
import pytest

from local import openapi, places
from local.user_ids import PUBLISHED_USER_IDS
from redpacket.campaigns.api.schemas import CampaignBody
from redpacket.chat.connector_name import ConnectorName
from redpacket.events.api import views as webhook_views
from redpacket.events.api.schemas import EventName, WebhookBody
from redpacket.events.model.events import SUBSCRIBED, EventType
from redpacket.ledger.ports import ReceivedItem
from redpacket.ledger.provider_name import ProviderName
from redpacket.lottery.api.draw_schemas import DrawBody, HelpBody
from redpacket.lottery.api.prize_schemas import PrizeBody, StockBody
from redpacket.operations.api.schemas import SwitchBody
from redpacket.operations.model.operators import Duty
from redpacket.packets.api import views
from redpacket.packets.api.claim_schemas import GrabBody
from redpacket.packets.api.pages import health
from redpacket.packets.api.send_schemas import SendBody
from redpacket.packets.model.packet import PacketStatus
from redpacket.packets.ports import SentItem
from redpacket.packets.split import Split
from redpacket.packets.use_cases.read_records import PacketList, ReceivedShare, SentPacket
from redpacket.payments.api import views as payment_views
from redpacket.payments.model.payments import PaymentRefund, PaymentReturn, ReturnReason
from redpacket.platform.difference import Difference
from redpacket.platform.errors import InvalidRequest, RedPacketError
from redpacket.platform.http.bodies import parse
from redpacket.platform.http.problems import problem_of
from redpacket.platform.http.request import HttpRequest
from redpacket.platform.user import User
from redpacket.reconciliation.api.views import audit_view, reconciliation_view
from redpacket.reconciliation.checks.packets import Tally
from redpacket.reconciliation.ports import StoredRun
from redpacket.reconciliation.use_cases.audit_packet import PacketAudit
from redpacket.reconciliation.use_cases.reconcile import Checked, Reconciliation
from redpacket.users.api.schemas import DepositBody, ProfileBody
from redpacket.users.ports import Profile
from testing.builders import NOW_MS, a_packet
from testing.events.event_system import FAILED, EventSystem

CONTRACT = json.loads(openapi.OPENAPI.read_text(encoding="utf-8"))
SCHEMAS = CONTRACT["components"]["schemas"]
ROUTES = [
    (f"{method.upper()} {path}", operation)
    for path, operations in CONTRACT["paths"].items()
    for method, operation in operations.items()
]

ME = User(PUBLISHED_USER_IDS.id_of("me"), "小明")
HER = User(PUBLISHED_USER_IDS.id_of("her"))
DIFFERENCES = [
    Difference("I1", "user:1", "balance", 1, 2),
    Difference("cache", "p", "held", "a", "b"),
]


def errors_in(name: str, value: Any) -> list[str]:
    """Return the errors of *value* against the schema *name*."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": CONTRACT["components"]}
    validator = jsonschema_rs.Draft202012Validator(schema)
    return [error.message for error in validator.iter_errors(json.loads(json.dumps(value)))]


# ---------------------------------------------------------------- equal to the code


def test_the_file_equals_the_output_of_the_generator() -> None:
    written = openapi.OPENAPI.read_text(encoding="utf-8")

    assert written == openapi.text(), "run `make openapi`"
    for name in openapi.VERSIONS:
        assert (places.ROOT / name).read_text(encoding="utf-8") == openapi.with_version(name)


def test_the_file_has_exactly_the_routes_of_the_handlers() -> None:
    declared = {key.replace("+}", "}") for key in openapi.operations()}

    assert {key for key, _ in ROUTES} == declared


def test_every_problem_is_the_answer_of_some_route() -> None:
    answered = json.dumps(CONTRACT["components"]["responses"])

    unanswered = [
        code
        for code in openapi.errors_by_code()
        if f'schemas/{openapi.problem_name(code)}"' not in answered
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
    "GET /transparency/checkpoint",
    "GET /transparency/tile/{proxy}",
    "GET /packets/{packet_id}/feed",
    "GET /packets/{packet_id}/preview",
    "GET /pictures/{picture_id}",
    "GET /campaigns/{campaign_id}",
    "POST /auth/wechat",
    "GET /wechat/js-config",
    *(f"POST /gateway/{provider}/callback" for provider in ProviderName),
    *(f"POST /chat/{platform}" for platform in ConnectorName),
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
"""Problem codes that must stay, because clients may rely on them."""


def test_no_released_code_is_missing() -> None:
    operations = openapi.operations()
    gone = {
        key: missing
        for key, codes in FIXED_CODES.items()
        if (missing := set(codes.split()) - openapi.codes_of(operations[key]))
    }

    assert gone == {}


def test_a_route_declares_retry_after_only_if_one_of_its_errors_has_it() -> None:
    def retry_after(key: str, status: str) -> Any:
        method, path = key.split()
        named = CONTRACT["paths"][path][method.lower()]["responses"][status]["$ref"]
        response = CONTRACT["components"]["responses"][named.rpartition("/")[2]]
        return response.get("headers", {}).get("Retry-After", {}).get("$ref")

    draws = "POST /campaigns/{campaign_id}/draws"

    # Waiting helps if an idempotency key is in use; if a campaign is off, no delay is known.
    assert retry_after("POST /packets", "409") == "#/components/headers/OptionalRetryAfter"
    assert retry_after(draws, "409") is None
    assert retry_after(draws, "503") == "#/components/headers/RetryAfter"


def test_a_route_takes_a_body_if_its_method_writes() -> None:
    without_body = {
        "POST /admin/reconcile",
        "POST /admin/approvals/{approval_id}/approve",
        "POST /admin/approvals/{approval_id}/reject",
        "POST /admin/campaigns/{campaign_id}/preheat",
        "POST /admin/webhooks/{name}/secret",
        "POST /admin/webhooks/{name}/test",
        "POST /admin/webhooks/{name}/replay",
        "POST /me/withdrawals/{withdrawal_id}/cancel",
        "POST /packets/{packet_id}/end",
        "DELETE /me/wechat/authorization",
        "DELETE /admin/users/{user}",
        "DELETE /admin/accounts/{user}/campaign-money",
        "DELETE /admin/pictures/{picture_id}",
        "DELETE /admin/packets/{packet_id}/thanks/{share_no}",
        "DELETE /admin/chats/{connector}/{chat_id}",
        # The gateway or platform signs these calls, in its own format.
        *(f"POST /gateway/{provider}/callback" for provider in ProviderName),
        *(f"POST /chat/{platform}" for platform in ConnectorName),
    }

    bare = {key for key, operation in ROUTES if "requestBody" not in operation}

    assert bare == without_body | {key for key, _ in ROUTES if key.startswith("GET ")}


def test_every_object_is_strict() -> None:
    def objects(schema: Any) -> list[Any]:
        if isinstance(schema, list):
            return [each for part in schema for each in objects(part)]
        if not isinstance(schema, dict):
            return []
        here = [schema] if schema.get("type") == "object" else []
        return here + [each for part in schema.values() for each in objects(part)]

    loose = [
        (name, each["additionalProperties"])
        for name, schema in SCHEMAS.items()
        for each in objects(schema)
        if each["additionalProperties"] is not False
    ]

    texts = {"type": "string"}
    lists = {"type": "array", "items": texts}
    # Only the host's token claims, and prompts of providers other than WeChat, have free field
    # names.
    prompts = [each for each in loose if each[0].endswith("Prompt")]
    assert [each for each in loose if each not in prompts] == [("CampaignAdmin", lists)]
    assert ("HostPrompt", texts) in prompts
    assert ("WeChatPrompt", texts) not in prompts
    assert all(fields == texts for _, fields in prompts)


def test_a_route_declares_its_callers() -> None:
    """Users are the default callers; operations/test_roles.py tests the roles of operators."""
    admin = [{"user": ["hongbao/admin"]}]
    for key, operation in ROUTES:
        security = operation.get("security")
        if "/admin/" in key:
            assert security[:1] == admin, key
            roles = {f"hongbao/{duty}" for duty in Duty}
            assert all(len(each["user"]) == 1 for each in security), key
            assert {each["user"][0] for each in security[1:]} <= roles, key
        else:
            assert security == ([] if key in OPEN_ROUTES else None), key
        # A call with a wrong signature is refused.
        is_signed = any(path in key for path in ("/gateway/", "/chat/"))
        assert ("401" in operation["responses"]) == (security != [] or is_signed), key


def test_a_route_names_the_parameters_of_its_path() -> None:
    for key, operation in ROUTES:
        shared = CONTRACT["components"]["parameters"]
        parameters = [
            shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
            for each in operation.get("parameters", [])
        ]
        named = [parameter["name"] for parameter in parameters if parameter["in"] == "path"]

        assert named == [part[1:-1] for part in key.split("/") if part.startswith("{")], key


# ---------------------------------------------------------------- answers


def _shown() -> Iterator[tuple[str, Any]]:
    """Yield schemas with answers that views build; tests/handlers compares the other schemas."""
    for status in PacketStatus:
        packet = a_packet()
        item = SentItem(packet.packet_id, packet.terms.total_fen, NOW_MS)
        sent = SentPacket(item, packet, status, 1, None)
        yield "Sent", views.sent_list_view(PacketList([sent], 100, 1, 1, "a cursor"))
        share = ReceivedItem(packet.packet_id, 1, 100, NOW_MS)
        received = PacketList([ReceivedShare(share, packet, status, None)], 100, 1, 1, None)
        for profiles in ({}, {packet.sender.user_id: Profile("sender", is_erased=True)}):
            yield "Received", views.received_list_view(received, views.UserPresenter(profiles))
    for differences in ([], DIFFERENCES):
        yield "Audit", audit_view(PacketAudit(differences, Tally(unsettled_since_ms=NOW_MS)))
        stored = Reconciliation("3f", NOW_MS, [Checked("check_shares", 7, 1)], differences).stored
        yield (
            "Reconciliation",
            reconciliation_view(StoredRun("3f", "SUCCEEDED", stored)),
        )
    for state in ("RUNNING", "ABORTED"):
        yield "Reconciliation", reconciliation_view(StoredRun("3f", state, {}))
    number = "0" * 32
    returned = PaymentReturn(number, "tx", 99, ReturnReason.MISMATCHED, ProviderName.HOST, NOW_MS)
    refund = PaymentRefund(number, "console-1", "u" * 24, 40, 60, NOW_MS)
    yield "ListedReturns", {"items": [payment_views.listed_return_view(returned)], "next": None}
    yield "Debts", {"items": [payment_views.debt_view(refund, 10, None)], "next": "0000000000000#x"}
    yield "Health", health(HttpRequest({}, {}, {}, {}, b"")).body


def test_answers_match_their_schemas() -> None:
    wrong = [(name, errors) for name, shown in _shown() if (errors := errors_in(name, shown))]

    assert wrong == []


def test_webhooks_match_their_schemas() -> None:
    system = EventSystem()
    receiver = system.receiver("shop")
    receiver.answers = lambda _: FAILED
    made, secret = system.process().put_webhook(
        "new", "https://a.example", SUBSCRIBED, bool, is_on=False
    )
    tried = system.process().test_webhook("shop")
    system.system.send()
    system.run()
    watched = system.process().watch_webhook("shop")
    _, counts, pending = (
        watched[0],
        watched[1],
        system.process().waiting_list.list_due("shop", 2**60, 9),
    )

    shown = {**webhook_views.webhook_view(made), "secret": "whsec_" + "a" * 43 + "="}
    assert secret
    assert errors_in("Webhook", shown) == []
    assert (
        errors_in("WebhookDetails", webhook_views.details_view(watched[0], counts, pending)) == []
    )
    assert errors_in("TriedDelivery", webhook_views.attempt_view(tried)) == []


def test_events_match_their_published_schemas() -> None:
    system, ann, bob = EventSystem(), ME.user_id, HER.user_id
    receiver = system.receiver("shop")
    packet = system.system.send(ann, count=2)
    for claimer in (ann, bob):
        system.system.grab(packet, claimer)
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
        errors = [str(error) for error in jsonschema_rs.validator_for(schema).iter_errors(told)]
        assert errors == [], told
    assert CONTRACT["webhooks"].keys() == set(EventType)
    assert set(get_args(EventName)) == set(SUBSCRIBED)


def _error(kind: type[RedPacketError]) -> RedPacketError:
    return kind([{"field": "a", "message": "b"}]) if issubclass(kind, InvalidRequest) else kind()


@pytest.mark.parametrize("kind", openapi.errors_by_code().values(), ids=lambda kind: kind.code)
def test_each_problem_matches_its_schema_and_has_a_text(kind: type[RedPacketError]) -> None:
    status, _, body = problem_of(_error(kind), "a request's id")

    assert body["status"] == status
    assert errors_in(openapi.problem_name(kind.code), body) == []
    assert kind is InvalidRequest or body["detail"] == kind.text()
    assert re.fullmatch(r"[A-Z].{10,}\.", kind.text())


def test_an_undeclared_field_is_detected() -> None:
    assert errors_in("Health", {"status": "ok", "version": "1", "user_id": "me"})


# ---------------------------------------------------------------- bodies

A_PRIZE = {"title": "手机", "kind": "goods", "weight": 3, "total": 2}
CASH_PRIZE = {"title": "红包", "kind": "packet", "weight": 3, "total": 2, "amount_fen": 88}
A_TOKEN = PUBLISHED_USER_IDS.id_of("bob")
A_CAMPAIGN = {"title": "雨", "starts_at_ms": 1, "ends_at_ms": 2, "status": "on"}

A_PACKET = {"kind": "lucky", "total_fen": 1, "count": 1}
WHOLE_CAMPAIGN = {
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
}
WHOLE_PRIZE = {
    **A_PRIZE,
    "per_day": 1,
    "per_hour": 1,
    "image_url": "https://a.example/1.png",
    "description": "256 GB",
    "attributes": {"colour": "red", "gb": 256, "new": True},
    "once_per_user": True,
    "status": "off",
    "version": 1,
}

BODIES: dict[type[Any], list[dict[str, Any]]] = {
    SendBody: [
        {"kind": "lucky", "total_fen": 100, "count": 3},
        {**A_PACKET, "greeting": ""},
        {**A_PACKET, "split": None},
        *({**A_PACKET, "split": split.value} for split in Split if split is not Split.EQUAL),
        {"kind": "equal", "total_fen": 10**6, "count": 10**6, "campaign_id": "rain-1"},
    ],
    WebhookBody: [{"url": "https://a.example/x", "events": [SUBSCRIBED[0]]}],
    CampaignBody: [A_CAMPAIGN, WHOLE_CAMPAIGN],
    PrizeBody: [A_PRIZE, CASH_PRIZE, WHOLE_PRIZE],
    StockBody: [{"delta": -5}],
    DrawBody: [{}],
    HelpBody: [{"inviter_token": A_TOKEN, "transcript": "恭喜发财"}],
    GrabBody: [{}, {"passphrase": None}],
    DepositBody: [{"user": "a@b.example|1", "amount_fen": 1}],
    SwitchBody: [{"on": False, "reason": "维护"}, {"on": True}],
    ProfileBody: [{"nickname": " 名 ", "avatar_url": "https://a.example"}],
}

NO_CAMPAIGNS: list[dict[str, Any]] = [
    {"title": " "},
    {"timezone": "localtime"},
    {"ends_at_ms": 10**13},
    {"rules": {"more": 1}},
    {"budget_fen": 1.5},
    {"prizes": []},
]
NO_PRIZES: list[dict[str, Any]] = [
    {"weight": 1.5},
    {"total": -1},
    {"issued": 0},
    {"kind": "coupon"},
    {"image_url": "http://a.example"},
    {"attributes": {"a": [1]}},
    {"attributes": {"a b": 1}},
]

NO_BODIES: dict[type[Any], list[dict[str, Any]]] = {
    SendBody: [
        {"kind": "lucky", "total_fen": 100},
        {**A_PACKET, "total_fen": 0},
        {**A_PACKET, "count": True},
        {**A_PACKET, "kind": "l"},
        {**A_PACKET, "more": 1},
        {**A_PACKET, "greeting": " " * 401},
        {**A_PACKET, "campaign_id": "{rain}"},
    ],
    CampaignBody: [{**A_CAMPAIGN, **change} for change in NO_CAMPAIGNS],
    PrizeBody: [{**CASH_PRIZE, "amount_fen": 0}, *({**A_PRIZE, **change} for change in NO_PRIZES)],
    StockBody: [{"delta": "1"}, {"total": 5}],
    DrawBody: [{"prize_id": "phone"}],
    HelpBody: [{"inviter_token": "short", "transcript": ""}, {"inviter_token": A_TOKEN}],
    GrabBody: [{"passphrase": "a" * 201}],
    DepositBody: [{"user": "-", "amount_fen": 1}, {"user": "a\n", "amount_fen": 1}],
    SwitchBody: [{}, {"on": 1}, {"on": True, "off": False}],
    ProfileBody: [{"nickname": " \u3000"}, {"nickname": "n", "avatar_url": "http://a.example"}],
}


def test_the_contract_accepts_the_bodies_that_the_handler_accepts() -> None:
    for model, bodies in BODIES.items():
        for body in bodies:
            assert errors_in(model.__name__, body) == [], body
            parse(model, body)


def test_the_contract_refuses_the_bodies_that_the_handler_refuses() -> None:
    for model, bodies in NO_BODIES.items():
        for body in bodies:
            assert errors_in(model.__name__, body), body
            with pytest.raises(InvalidRequest):
                parse(model, body)
