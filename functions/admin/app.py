"""The operators' door: deposits, audits, switches, for tokens with the scope hongbao/admin."""

from redpacket.edge import views, wiring
from redpacket.edge.api import ADMIN_SCOPE, Api, HttpAnswer, HttpRequest, person_of
from redpacket.edge.packet_ids import packet_id_of
from redpacket.edge.schemas import DepositBody, SwitchBody, idempotent_request, parse

handler = Api()


@handler.route("POST /admin/deposits")
def deposit(request: HttpRequest) -> HttpAnswer:
    """Put money into a user's account, once per idempotency key."""
    request.require_scope(ADMIN_SCOPE)
    idempotent = idempotent_request(request)
    body = parse(DepositBody, request.json())
    transfer_id, balance_fen = wiring.deposit(person_of(body.user), body.amount_fen, idempotent)
    return HttpAnswer({"transfer_id": transfer_id, "balance_fen": balance_fen}, status=201)


@handler.route("GET /admin/packets/{packet_id}/audit")
def audit_packet(request: HttpRequest) -> HttpAnswer:
    """Check the invariants of one packet."""
    request.require_scope(ADMIN_SCOPE)
    return HttpAnswer(views.audit_view(wiring.audit_packet(packet_id_of(request))))


@handler.route("GET /admin/switches")
def cached_switches(request: HttpRequest) -> HttpAnswer:
    """Show how every switch stands, since when and why."""
    request.require_scope(ADMIN_SCOPE)
    return HttpAnswer(views.switches_view(wiring.switch_store().list_states()))


@handler.route("PUT /admin/switches/{name}")
def turn_switch(request: HttpRequest) -> HttpAnswer:
    """Turn one switch off or on; everywhere within ten seconds."""
    request.require_scope(ADMIN_SCOPE)
    switch = request.switch
    body = parse(SwitchBody, request.json())
    state = wiring.turn_switch(
        switch, is_on=body.on, reason=body.reason, operator_id=request.user.user_id
    )
    return HttpAnswer(views.switch_view(state))
