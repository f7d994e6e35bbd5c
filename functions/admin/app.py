"""HTTP handler for operators: deposits, audits, lists, switches, limits, risk and chats."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from redpacket.approvals.api import operator_lists as listed
from redpacket.approvals.api import summaries
from redpacket.approvals.api.approval_gate import (
    asked_deposit,
    asked_move,
    log_verdict,
    note_look_up,
    note_thanks,
    run_or_request_approval,
)
from redpacket.approvals.use_cases.list_packets import (
    count_sharers,
    find_packet,
    list_claims,
    list_packets,
)
from redpacket.campaigns.api.parameters import campaign_id_of
from redpacket.campaigns.errors import CampaignNotFound
from redpacket.chat.api.schemas import ChatBody, chat_id_of, connector_of
from redpacket.chat.errors import ChatNotFound
from redpacket.chat.model import Chat
from redpacket.chat.use_cases import admit_chat as chats
from redpacket.containers import containers
from redpacket.erasure.errors import AccountNotEmpty
from redpacket.ledger.errors import InsufficientFunds
from redpacket.ledger.use_cases import move_campaign_money as moves
from redpacket.ledger.use_cases.deposit import deposit as credit
from redpacket.lottery.use_cases.list_winners import list_winners
from redpacket.operations.api import views
from redpacket.operations.api.reads import is_known, noted_read
from redpacket.operations.api.schemas import LimitBody, RiskBody, SwitchBody
from redpacket.operations.api.scopes import (
    ADMINS,
    AUDITORS,
    OPERATORS,
    TREASURERS,
    WATCHERS,
    operator_of,
)
from redpacket.operations.errors import SwitchNotFound
from redpacket.operations.use_cases import turn_switch as switches
from redpacket.operations.use_cases.ask_risk import judge_user as judge
from redpacket.packets.api.packet_refs import (
    looked_up_packet_of,
    may_see_id,
    named_packet_of,
    packet_cursor,
    packet_cursor_of,
    share_no_of,
    without_ids,
)
from redpacket.packets.api.views import claim_cursor_of, claim_place
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.use_cases.thank_sender import ThanksPorts, remove_thanks_text
from redpacket.platform.errors import KEYED, InvalidRequest
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.bodies import body_of, idempotent_request
from redpacket.platform.http.parameters import key_hash_of
from redpacket.platform.http.request import HttpRequest, RequestOf, person_of
from redpacket.platform.settings import settings
from redpacket.reconciliation.api.views import audit_view
from redpacket.reconciliation.use_cases.audit_packet import audit_packet as run_audit
from redpacket.users.api.schemas import CampaignMoneyBody, DepositBody

if TYPE_CHECKING:
    from redpacket.approvals.api.answers import AwaitingApproval
    from redpacket.approvals.api.list_answers import (
        CampaignPage,
        ClaimPage,
        Journal,
        PacketPage,
        SharerPage,
        WinnerPage,
    )
    from redpacket.chat.api.answers import AdmittedChat, AdmittedChats, ChatPlace
    from redpacket.operations.api.answers import (
        CampaignAccount,
        Deposit,
        Limit,
        Limits,
        Refusals,
        Risk,
        Switch,
        Switches,
    )
    from redpacket.packets.api.answers import RemovedThanks
    from redpacket.reconciliation.api.answers import Audit

handler = Api()


@handler.route(
    "POST /admin/deposits",
    parameters=(key_hash_of,),
    scopes=TREASURERS,
    statuses=(201, 202),
    refusals=KEYED,
)
def deposit(request: RequestOf[DepositBody]) -> HttpAnswer[Deposit | AwaitingApproval]:
    """Put money into a user's account, once per idempotency key, or ask for approval (202)."""
    idempotent = idempotent_request(request)
    body = body_of(DepositBody, request)
    payee = person_of(body.user)

    def done() -> HttpAnswer[Deposit]:
        transfer_id, balance_fen = credit(
            payee,
            body.amount_fen,
            idempotent,
            case=body.case,
            is_for_campaigns=body.is_for_campaigns,
            operator=operator_of(request),
            ports=containers.operators.deposit_ports,
        )
        return HttpAnswer({"transfer_id": transfer_id, "balance_fen": balance_fen})

    pending = asked_deposit(
        payee,
        body.amount_fen,
        idempotent,
        is_for_campaigns=body.is_for_campaigns,
        case=body.case,
    )
    return run_or_request_approval(request, done, pending, payee)


@handler.route(
    "POST /admin/accounts/{user}/campaign-money",
    parameters=(listed.user_of, key_hash_of),
    scopes=TREASURERS,
    statuses=(201, 202),
    refusals=(*KEYED, InsufficientFunds),
)
def move_campaign_money(
    request: RequestOf[CampaignMoneyBody],
) -> HttpAnswer[Deposit | AwaitingApproval]:
    """Move remaining campaign money to another campaign account, or ask for approval (202)."""
    idempotent = idempotent_request(request)
    body = body_of(CampaignMoneyBody, request)
    owner, payee = listed.user_of(request), person_of(body.user)

    def done() -> HttpAnswer[Deposit]:
        transfer_id, balance_fen = moves.move_campaign_money(
            owner,
            payee,
            body.reason,
            idempotent,
            operator=operator_of(request),
            ports=containers.operators.deposit_ports,
        )
        return HttpAnswer({"transfer_id": transfer_id, "balance_fen": balance_fen})

    pending = asked_move(owner, payee, body.reason, idempotent)
    return run_or_request_approval(request, done, pending, payee)


@handler.route(
    "DELETE /admin/accounts/{user}/campaign-money",
    parameters=(listed.user_of,),
    scopes=TREASURERS,
    refusals=(AccountNotEmpty, InvalidRequest),
)
def unmark_account(request: HttpRequest) -> HttpAnswer[CampaignAccount]:
    """Remove the mark that reserves an empty account for campaign money."""
    user_id = listed.user_of(request).user_id
    containers.operators.unmark_account(user_id, request.user)
    return HttpAnswer({"user_token": user_id, "is_for_campaigns": False})


@handler.route(
    "GET /admin/packets/{packet_id}/audit",
    parameters=(named_packet_of,),
    scopes=AUDITORS,
    refusals=(PacketNotFound,),
)
def audit_packet(request: HttpRequest) -> HttpAnswer[Audit]:
    """Check the invariants of one packet."""
    audit = run_audit(
        named_packet_of(request),
        packets=containers.packets.repository,
        ledger=containers.packets.ledger,
        clock=containers.platform.clock,
    )
    return HttpAnswer(without_ids(request, audit_view(audit)))


@handler.route("GET /admin/switches", scopes=WATCHERS)
def read_switches(request: HttpRequest) -> HttpAnswer[Switches]:  # noqa: ARG001 - a route takes a request
    """Show every switch with its last change and reason."""
    return HttpAnswer(views.switches_view(containers.operations.switch_store.read().states))


@handler.route(
    "PUT /admin/switches/{name}",
    parameters=(listed.switch_of,),
    scopes=OPERATORS,
    refusals=(SwitchNotFound,),
)
def turn_switch(request: RequestOf[SwitchBody]) -> HttpAnswer[Switch]:
    """Turn a switch off or on; the change is effective everywhere within ten seconds."""
    switch = listed.switch_of(request)
    body = body_of(SwitchBody, request)
    state = switches.turn_switch(
        switch,
        is_on=body.on,
        reason=body.reason,
        operator=request.user,
        ports=containers.operators.switch_ports,
    )
    return HttpAnswer(views.switch_view(state))


@handler.route("GET /admin/limits", scopes=WATCHERS)
def read_limits(request: HttpRequest) -> HttpAnswer[Limits]:  # noqa: ARG001 - a route takes a request
    """Show every limit with its default and bounds."""
    return HttpAnswer(views.limits_view(containers.operations.switch_store.read().limits))


@handler.route(
    "PUT /admin/limits/{name}",
    parameters=(listed.limit_of,),
    scopes=ADMINS,
)
def set_limit(request: RequestOf[LimitBody]) -> HttpAnswer[Limit]:
    """Set a limit or restore its default; the change is effective within ten seconds."""
    name, value = listed.limit_of(request), body_of(LimitBody, request).value
    switches.set_limit(name, value, operator=request.user, ports=containers.operators.switch_ports)
    return HttpAnswer(views.limit_view(name, value))


@handler.route("GET /admin/refusals", parameters=(listed.hours_of,), scopes=WATCHERS)
def read_refusals(request: HttpRequest) -> HttpAnswer[Refusals]:
    """Count refusals by code, and requests by stage; busy processes report up to a minute late."""
    hours = listed.hours_of(request)
    return HttpAnswer(views.refusals_view(hours, containers.operators.outcome_counts.count(hours)))


@handler.route("POST /admin/risk", scopes=ADMINS)
def judge_user(request: RequestOf[RiskBody]) -> HttpAnswer[Risk]:
    """Store the host's decision about a user; the decision applies to the next claim or draw."""
    body = body_of(RiskBody, request)
    user_id = person_of(body.user).user_id
    judge(
        user_id,
        body.parsed,
        lambda: log_verdict(request, user_id, body.verdict, body.until_ms),
        verdicts=containers.operators.verdicts,
        checks_verdicts=settings.has_verdicts,
    )
    return HttpAnswer({"verdict": body.verdict, "until_ms": body.until_ms})


@handler.route(
    "GET /admin/campaigns",
    parameters=(listed.campaign_cursor_of, listed.list_limit_of),
    scopes=WATCHERS,
    csv=listed.CAMPAIGN_COLUMNS,
)
def read_campaigns(request: HttpRequest) -> HttpAnswer[CampaignPage]:
    """List all campaigns, latest start first."""
    page, cursor = containers.operators.operator_lists.list_campaigns(
        listed.campaign_cursor_of(request), listed.list_limit_of(request)
    )
    return HttpAnswer(
        {"items": [listed.campaign_row(campaign) for campaign in page], "next": cursor}
    )


@handler.route(
    "GET /admin/packets",
    parameters=(
        listed.of_campaign,
        listed.sender_of,
        listed.packet_status_of,
        looked_up_packet_of,
        packet_cursor_of,
        listed.list_limit_of,
    ),
    scopes=WATCHERS,
    csv=listed.PACKET_COLUMNS,
    refusals=(PacketNotFound,),
)
def read_packets(request: HttpRequest) -> HttpAnswer[PacketPage]:
    """List packets from a campaign or a sender, or by default all that have not ended."""
    sender, packet_id = listed.sender_of(request), looked_up_packet_of(request)
    if packet_id is None and (sender is None or is_known(sender.user_id)):
        page, cursor = list_packets(
            listed.of_campaign(request),
            sender.user_id if sender else None,
            listed.packet_status_of(request),
            packet_cursor_of(request),
            listed.list_limit_of(request),
            ports=containers.operators.list_ports,
        )
    elif packet_id is None:
        page, cursor = [], None
    else:
        page, cursor = [find_packet(packet_id, ports=containers.operators.list_ports)], None
        note_look_up(request, page[0])
    users = containers.users.profiles.list_users([packet.sender.user_id for packet in page])
    rows = [
        listed.packet_row(packet, users, has_id=bool(packet_id) or may_see_id(request, packet))
        for packet in page
    ]
    rows = noted_read(
        request,
        "packets",
        rows,
        campaign_id=listed.of_campaign(request),
        sender=sender.user_id if sender else None,
        status=listed.packet_status_of(request),
        packet_id=packet_id,
    )
    return HttpAnswer({"items": rows, "next": packet_cursor(cursor)})


@handler.route(
    "GET /admin/packets/{packet_id}/claims",
    parameters=(named_packet_of, claim_cursor_of, listed.list_limit_of),
    scopes=WATCHERS,
    csv=listed.CLAIM_COLUMNS,
    refusals=(PacketNotFound,),
)
def read_claims(request: HttpRequest) -> HttpAnswer[ClaimPage]:
    """List a packet's claims, with their amounts."""
    page, place = list_claims(
        named_packet_of(request),
        claim_cursor_of(request),
        listed.list_limit_of(request),
        ports=containers.operators.list_ports,
    )
    users = containers.users.profiles.list_users(
        [share.claimer.user_id for share in page if share.claimer]
    )
    rows = [listed.claim_row(share, users) for share in page]
    rows = noted_read(request, "claims", rows, packet_id=named_packet_of(request))
    return HttpAnswer({"items": rows, "next": claim_place(place)})


@handler.route(
    "DELETE /admin/packets/{packet_id}/thanks/{share_no}",
    parameters=(named_packet_of, share_no_of),
    scopes=OPERATORS,
    refusals=(PacketNotFound,),
)
def remove_thanks(request: HttpRequest) -> HttpAnswer[RemovedThanks]:
    """Remove the thanks text for a share; the claimer can't write another one."""
    packet_id, share_no = named_packet_of(request), share_no_of(request)
    author = remove_thanks_text(
        packet_id,
        share_no,
        lambda user: note_thanks(request, packet_id, share_no, user),
        ports=ThanksPorts(containers.packets.repository, containers.packets.pages.thanks),
    )
    return HttpAnswer({"share_no": share_no, "user_token": author.user_id})


@handler.route(
    "GET /admin/packets/{packet_id}/sharers",
    parameters=(named_packet_of, claim_cursor_of),
    scopes=WATCHERS,
    csv=listed.SHARER_COLUMNS,
    refusals=(PacketNotFound,),
)
def read_sharers(request: HttpRequest) -> HttpAnswer[SharerPage]:
    """Count the claims that came through each user's shared link."""
    counts, place = count_sharers(
        named_packet_of(request),
        claim_cursor_of(request),
        ports=containers.operators.list_ports,
    )
    users = containers.users.profiles.list_users(list(counts))
    rows = [listed.sharer_row(user_id, count, users) for user_id, count in counts.most_common()]
    rows = noted_read(request, "sharers", rows, packet_id=named_packet_of(request))
    return HttpAnswer({"items": rows, "next": claim_place(place)})


@handler.route(
    "GET /admin/campaigns/{campaign_id}/winners",
    parameters=(
        campaign_id_of,
        listed.of_prize,
        listed.winner_status_of,
        listed.winner_cursor_of,
        listed.list_limit_of,
    ),
    scopes=WATCHERS,
    csv=listed.WINNER_COLUMNS,
    refusals=(CampaignNotFound,),
)
def read_winners(request: HttpRequest) -> HttpAnswer[WinnerPage]:
    """List winners of goods and codes by prize and unit; cash wins are claims on prize packets."""
    page, place = list_winners(
        campaign_id_of(request),
        listed.of_prize(request),
        listed.winner_status_of(request),
        listed.winner_cursor_of(request),
        listed.list_limit_of(request),
        prizes=containers.lottery.prizes,
        winners=containers.operators.winners,
    )
    users = containers.users.profiles.list_users([winner.user_id for winner, _ in page])
    # Only operators who hand over goods need addresses, and only until the handover.
    may_send = not request.scopes.isdisjoint(OPERATORS)
    winner_ids = [winner.user_id for winner, _ in page if may_send and winner.decision is None]
    addresses = containers.lottery.addresses.find(winner_ids) if winner_ids else {}
    rows = [
        listed.winner_row(
            winner, won_at_ms, users, None if winner.decision else addresses.get(winner.user_id)
        )
        for winner, won_at_ms in page
    ]
    rows = noted_read(
        request,
        "winners",
        rows,
        campaign_id=campaign_id_of(request),
        prize_id=listed.of_prize(request),
        status=listed.winner_status_of(request),
    )
    return HttpAnswer({"items": rows, "next": f"{place[0]}.{place[1]}" if place else None})


@handler.route(
    "GET /admin/journal",
    parameters=(listed.subject_of, listed.action_cursor_of, listed.list_limit_of),
    scopes=AUDITORS,
    csv=listed.JOURNAL_COLUMNS,
)
def read_journal(request: HttpRequest) -> HttpAnswer[Journal]:
    """List operators' actions, newest first."""
    page, cursor = containers.operators.actions.list_actions(
        listed.subject_of(request),
        listed.action_cursor_of(request),
        listed.list_limit_of(request),
        containers.platform.clock.now_ms(),
    )
    ids = summaries.ids_of([noted.action for noted in page])
    users = containers.users.profiles.list_users(ids)
    items = [listed.action_view(noted, users) for noted in page]
    items = noted_read(request, "journal", items, subject=listed.subject_of(request))
    view: Journal = {"items": items, "next": cursor}
    return HttpAnswer(without_ids(request, view))


@handler.route("GET /admin/chats", scopes=OPERATORS)
def list_chats(request: HttpRequest) -> HttpAnswer[AdmittedChats]:  # noqa: ARG001 - a route takes a request
    """List the chats whose members may send and claim packets."""
    admitted = chats.list_chats(chats=containers.chat.chats)
    return HttpAnswer({"items": [_chat_view(chat) for chat in admitted]})


@handler.route(
    "PUT /admin/chats/{connector}/{chat_id}",
    parameters=(connector_of, chat_id_of),
    scopes=OPERATORS,
)
def admit_chat(request: RequestOf[ChatBody]) -> HttpAnswer[AdmittedChat]:
    """Admit a chat with a daily limit, or edit an admitted chat."""
    body, now_ms = body_of(ChatBody, request), containers.platform.clock.now_ms()
    asked = Chat(
        connector_of(request), chat_id_of(request), **body.model_dump(), admitted_at_ms=now_ms
    )
    admitted = chats.admit_chat(request.user, asked, chats=containers.chat.chats)
    return HttpAnswer(_chat_view(admitted))


@handler.route(
    "DELETE /admin/chats/{connector}/{chat_id}",
    parameters=(connector_of, chat_id_of),
    scopes=OPERATORS,
    refusals=(ChatNotFound, InvalidRequest),
)
def revoke_chat(request: HttpRequest) -> HttpAnswer[ChatPlace]:
    """Revoke a chat, so that its members can neither send nor claim there."""
    connector, chat_id = connector_of(request), chat_id_of(request)
    now_ms = containers.platform.clock.now_ms()
    chats.revoke_chat(request.user, connector, chat_id, now_ms, chats=containers.chat.chats)
    return HttpAnswer({"connector": connector, "chat_id": chat_id})


def _chat_view(chat: Chat) -> AdmittedChat:
    return cast("AdmittedChat", asdict(chat))
