"""The door of operators, for tokens with the scope hongbao/admin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.domain.errors import (
    Busy,
    IdempotencyKeyMissing,
    IdempotencyKeyReused,
    InvalidRequest,
    PacketNotFound,
    SwitchNotFound,
    Unavailable,
)
from redpacket.edge import views
from redpacket.edge.api import ADMIN_SCOPE, Api, HttpAnswer
from redpacket.edge.packet_ids import packet_id_of
from redpacket.edge.parameters import key_hash_of
from redpacket.edge.request import HttpRequest, RequestOf, person_of
from redpacket.edge.schemas.accounts import DepositBody
from redpacket.edge.schemas.bodies import body_of, idempotent_request
from redpacket.edge.schemas.operations import RiskBody, SwitchBody
from redpacket.edge.switch_parameters import switch_of
from redpacket.edge.wiring import wiring

if TYPE_CHECKING:
    from redpacket.edge.answers.operators import Audit, Deposit, Risk, Switch, Switches

handler = Api()


@handler.route(
    "POST /admin/deposits",
    parameters=(key_hash_of,),
    scope=ADMIN_SCOPE,
    statuses=(201,),
    refusals=(IdempotencyKeyMissing, IdempotencyKeyReused, Busy, InvalidRequest, Unavailable),
)
def deposit(request: RequestOf[DepositBody]) -> HttpAnswer[Deposit]:
    """Put money into a user's account, once per idempotency key."""
    idempotent = idempotent_request(request)
    body = body_of(DepositBody, request)
    transfer_id, balance_fen = wiring.deposit(person_of(body.user), body.amount_fen, idempotent)
    return HttpAnswer({"transfer_id": transfer_id, "balance_fen": balance_fen})


@handler.route(
    "GET /admin/packets/{packet_id}/audit",
    parameters=(packet_id_of,),
    scope=ADMIN_SCOPE,
    refusals=(PacketNotFound, Unavailable),
)
def audit_packet(request: HttpRequest) -> HttpAnswer[Audit]:
    """Check the invariants of one packet."""
    return HttpAnswer(views.audit_view(wiring.audit_packet(packet_id_of(request))))


@handler.route("GET /admin/switches", scope=ADMIN_SCOPE, refusals=(Unavailable,))
def read_switches(request: HttpRequest) -> HttpAnswer[Switches]:  # noqa: ARG001 - a route takes a request
    """Show how every switch stands, since when and why."""
    return HttpAnswer(views.switches_view(wiring.switch_store.list_states()))


@handler.route(
    "PUT /admin/switches/{name}",
    parameters=(switch_of,),
    scope=ADMIN_SCOPE,
    refusals=(SwitchNotFound, InvalidRequest, Unavailable),
)
def turn_switch(request: RequestOf[SwitchBody]) -> HttpAnswer[Switch]:
    """Turn one switch off or on; everywhere within ten seconds."""
    switch = switch_of(request)
    body = body_of(SwitchBody, request)
    state = wiring.turn_switch(
        switch, is_on=body.on, reason=body.reason, operator_id=request.user.user_id
    )
    return HttpAnswer(views.switch_view(state))


@handler.route(
    "POST /admin/risk",
    scope=ADMIN_SCOPE,
    refusals=(InvalidRequest, Unavailable),
)
def judge_user(request: RequestOf[RiskBody]) -> HttpAnswer[Risk]:
    """Keep the host's verdict on a user; their next claim or draw sees it."""
    body = body_of(RiskBody, request)
    wiring.judge_user(person_of(body.user).user_id, body.parsed)
    return HttpAnswer({"verdict": body.verdict, "until_ms": body.until_ms})
