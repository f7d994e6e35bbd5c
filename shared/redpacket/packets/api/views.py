"""Conversion of domain values to the JSON objects of the HTTP contract."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from redpacket.ledger.model import DEPOSITS, Entry, packet_of
from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.api.claim_views import payout_of
from redpacket.packets.model.claim import Share
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.model.thanks import Thanks
from redpacket.platform.errors import invalid_cursor
from redpacket.platform.http.parameters import optional
from redpacket.platform.user import User
from redpacket.users.ports import Profile

if TYPE_CHECKING:
    from redpacket.packets.api import answers as packets
    from redpacket.packets.model.rain import Round
    from redpacket.packets.use_cases.read_proof import Proof
    from redpacket.packets.use_cases.read_records import (
        PacketList,
        ReceivedShare,
        Record,
        SentPacket,
    )

CLAIM_CURSOR = "^(p[0-9]{1,2}|[0-9]{1,8})$"
"""Pattern of a claim cursor: a share number, or "p" and the next partition of a sharded packet."""


@optional("query", "cursor", missing=0, type="string", pattern=CLAIM_CURSOR)
def claim_cursor_of(text: str) -> int:
    """`next` from the previous page."""
    if not re.fullmatch(CLAIM_CURSOR, text, re.ASCII) or text.endswith("\n"):
        raise invalid_cursor()
    return -int(text[1:]) if text.startswith("p") else int(text)


def claim_place(next_no: int | None) -> str | None:
    """Return the cursor for the next page; a negative *next_no* encodes a partition."""
    if next_no is None:
        return None
    return str(next_no) if next_no > 0 else f"p{-next_no}"


def sent_view(
    packet: Packet, share_base_url: str, ordered: Mapping[str, Any] | None = None
) -> packets.SentPacket:
    """Return a packet as sent, so that retries get the same response; *ordered* is the payment."""
    view = {
        "packet_id": packet.packet_id,
        "status": "unpaid" if packet.payment_id else "open",
        "kind": packet.kind,
        "split": packet.terms.split,
        "opening": packet.rules.opening,
        "total_fen": packet.terms.total_fen,
        "count": packet.terms.count,
        "greeting": packet.greeting,
        "created_at_ms": packet.created_at_ms,
        "starts_at_ms": packet.starts_at_ms,
        "expires_at_ms": packet.sent_ends_at_ms or packet.expires_at_ms,
        "campaign_id": packet.rules.campaign_id,
        "amounts_shown": packet.amounts_shown,
        "cover_url": packet.cover_url,
        "commitment": packet.terms.commitment,
        "share_url": f"{share_base_url}/packets/{packet.packet_id}",
        "payment_id": packet.payment_id,
    }
    prompts = {channel.value: ordered[channel] if ordered else None for channel in ProviderName}
    return cast("packets.SentPacket", {**view, **prompts})


def rain_views(rounds: Sequence[Round]) -> list[packets.RainRound]:
    """Return the rounds of rains."""
    return [
        {
            "starts_at_ms": each.starts_at_ms,
            "ends_at_ms": each.ends_at_ms,
            "packets": list(each.packet_ids),
        }
        for each in rounds
    ]


def shown_rounds(rounds: Sequence[Round], presenter: UserPresenter) -> list[packets.ShownRound]:
    """Return rounds with their podiums, for any reader."""
    return [
        {
            **view,
            "podium": [
                {**presenter.public_view(_claimer(share)), "amount_fen": share.amount_fen}
                for share in each.podium
            ],
        }
        for each, view in zip(rounds, rain_views(rounds), strict=True)
    ]


def ended_view(packet: Packet) -> packets.EndedPacket:
    """Return when a packet ended; for a canceled packet, return the time of the cancellation."""
    expires_at_ms = packet.expires_at_ms
    if packet.status is PacketStatus.CANCELLED:
        expires_at_ms = packet.closed_at_ms or expires_at_ms
    return {
        "packet_id": packet.packet_id,
        "expires_at_ms": expires_at_ms,
        "status": packet.status,
    }


Profiles: TypeAlias = Mapping[str, Profile]


class UserPresenter:
    """Presenter of users without host ids. The *viewer*'s nickname may come from the token."""

    def __init__(self, profiles: Profiles, viewer: User | None = None) -> None:
        self._profiles = profiles
        self._viewer = viewer

    def view(self, person: User) -> packets.ShownPerson:
        """Return a user; a missing nickname is derived from the user token."""
        token = person.user_id
        profile = self._profiles.get(person.user_id)
        nickname = (profile and profile.nickname) or person.nickname
        if not nickname and self._viewer and self._viewer.user_id == person.user_id:
            nickname = self._viewer.nickname
        return {
            "user_token": token,
            "nickname": nickname or f"用户{token[:4]}",
            "avatar_url": profile.avatar_url if profile else None,
        }

    def public_view(self, person: User) -> packets.PublicPerson:
        """Return a user without the user token, for anyone with the link."""
        shown = self.view(person)
        return {"nickname": shown["nickname"], "avatar_url": shown["avatar_url"]}

    def erasable_view(self, person: User) -> packets.ErasablePerson:
        """Return a user without the user token; an erased user has no nickname and no avatar."""
        profile = self._profiles.get(person.user_id)
        if profile and profile.is_erased:
            return {"nickname": None, "avatar_url": None}
        shown = self.public_view(person)
        return {"nickname": shown["nickname"], "avatar_url": shown["avatar_url"]}


def record_view(record: Record, presenter: UserPresenter) -> packets.Record:
    """Return a record page; *mine* is the viewer's claim."""
    packet = record.packet
    best, mine = record.luckiest, record.mine

    def taken(share: Share) -> packets.Taken:
        return {
            **presenter.view(_claimer(share)),
            "share_no": share.share_no,
            "claimed_at_ms": share.decided_at_ms,
            "is_luckiest": _is_luckiest(record, share),
            "payout": payout_of(share),
            **_thanks(record, share),
        }

    def claim(share: Share) -> packets.ShownClaim:
        return {
            **taken(share),
            "amount_fen": share.amount_fen if record.shows_amount(share) else None,
        }

    return {
        "packet_id": packet.packet_id,
        "sender": presenter.view(packet.sender),
        "is_sender": record.is_sender,
        "kind": packet.kind,
        "split": packet.terms.split,
        "opening": packet.rules.opening,
        "is_exclusive": packet.rules.is_exclusive,
        "needs_passphrase": packet.rules.passphrase is not None,
        "greeting": packet.greeting,
        "status": record.status,
        "total_fen": packet.terms.total_fen,
        "count": packet.terms.count,
        "claimed_count": record.claimed_count,
        "claimed_fen": None if record.hides_amounts else record.claimed_fen,
        "remaining_count": packet.terms.count - record.claimed_count,
        "refunded_fen": packet.end.refunded_fen if packet.end else 0,
        "refunded_at_ms": packet.end.refunded_at_ms if packet.end else None,
        "created_at_ms": packet.created_at_ms,
        "starts_at_ms": packet.starts_at_ms,
        "expires_at_ms": packet.expires_at_ms,
        "campaign_id": packet.rules.campaign_id,
        "emptied_in_ms": record.emptied_in_ms,
        # For users, an emptied packet ends with the last claim.
        "closed_at_ms": None if packet.is_emptied else packet.closed_at_ms,
        "luckiest": claim(best) if best else None,
        "claims": [claim(share) for share in record.claims],
        "next": claim_place(record.next_no),
        "amounts_shown": packet.amounts_shown,
        "cover_url": packet.cover_url,
        "commitment": packet.terms.commitment,
        "mine": {**taken(mine), "amount_fen": mine.amount_fen} if mine else None,
    }


def feed_view(record: Record, presenter: UserPresenter) -> packets.Feed:
    """Return a public packet, without user tokens and without a viewer."""
    packet = record.packet
    return {
        "packet_id": packet.packet_id,
        "status": record.status,
        "kind": packet.kind,
        "greeting": packet.greeting,
        "sender": presenter.public_view(packet.sender),
        "count": packet.terms.count,
        "claimed_count": record.claimed_count,
        "remaining_count": packet.terms.count - record.claimed_count,
        "total_fen": packet.terms.total_fen,
        "claimed_fen": None if record.hides_amounts else record.claimed_fen,
        "amounts_shown": packet.amounts_shown,
        "cover_url": packet.cover_url,
        "claims": [
            {
                **presenter.public_view(_claimer(share)),
                "amount_fen": share.amount_fen if record.shows_amount(share) else None,
                "claimed_at_ms": share.decided_at_ms,
                "is_luckiest": _is_luckiest(record, share),
                **_thanks(record, share),
            }
            for share in record.claims
        ],
        "emptied_in_ms": record.emptied_in_ms,
        "next": claim_place(record.next_no),
    }


def proof_view(proof: Proof) -> packets.Proof:
    """Return the seed and the amounts, in the form that `python -m redpacket.verify` reads."""
    terms = proof.terms
    return {
        "commitment": terms.commitment,
        "secret_version": terms.secret_version,
        "seed": terms.seed_text,
        "algorithm": terms.split,
        "total_fen": terms.total_fen,
        "count": terms.count,
        "share_fen_min": terms.share_fen_min,
        "share_fen_max": terms.share_fen_max,
        "unit_fen": terms.unit_fen,
        "first_share_no": proof.first_share_no,
        "amounts_fen": proof.amounts_fen,
        "next": proof.next,
    }


def sent_list_view(page: PacketList[SentPacket]) -> packets.Sent:
    """Return a page of sent packets."""
    return {
        "items": [
            {
                "packet_id": sent.item.packet_id,
                "kind": sent.packet.kind,
                "greeting": sent.packet.greeting,
                "total_fen": sent.item.total_fen,
                "count": sent.packet.terms.count,
                "claimed_count": sent.claimed_count,
                "claimed_fen": sent.claimed_fen,
                "at_ms": sent.item.at_ms,
                "status": sent.status,
            }
            for sent in page.items
        ],
        **_totals(page),
    }


def received_list_view(
    page: PacketList[ReceivedShare], presenter: UserPresenter
) -> packets.Received:
    """Return a page of received shares."""
    return {
        "items": [
            {
                "packet_id": received.packet.packet_id,
                "sender": presenter.erasable_view(received.packet.sender),
                "kind": received.packet.kind,
                "greeting": received.packet.greeting,
                "amount_fen": received.item.amount_fen,
                "is_luckiest": received.is_luckiest,
                "campaign_id": received.packet.rules.campaign_id,
                "prize_id": received.packet.rules.prize_id,
                "at_ms": received.item.at_ms,
                "status": received.status,
            }
            for received in page.items
        ],
        **_totals(page),
    }


def _totals(page: PacketList[Any]) -> packets.Totals:
    return {
        "total_fen": page.total_fen,
        "count": page.count,
        "luckiest_count": page.luckiest_count,
        "next": page.next,
    }


def transfers_view(entries: Iterable[Entry], next_cursor: str | None) -> packets.Transfers:
    """Return a user's transfers; credits are positive and debits negative."""
    return {
        "items": [
            {
                "transfer_id": entry.transfer_id,
                "kind": entry.kind,
                "amount_fen": entry.amount_fen,
                "counterparty": _counterparty(entry.counterparty),
                "at_ms": entry.at_ms,
            }
            for entry in entries
        ],
        "next": next_cursor,
    }


def _is_luckiest(record: Record, share: Share) -> bool | None:
    if record.hides_amounts:
        return None
    return record.luckiest is not None and share.share_no == record.luckiest.share_no


def _thanks(record: Record, share: Share) -> packets.ShownThanks:
    given = record.thanks.get(share.ref, Thanks())
    return {"thanks": given.emoji, "thanks_text": given.text or None}


def _claimer(share: Share) -> User:
    assert share.claimer  # only a refunded share has no claimer
    return share.claimer


def _counterparty(account: str) -> str:
    """Return the counterparty without internal user ids; packet ids are known to the user."""
    if account == DEPOSITS:
        return "deposit"
    return account if packet_of(account) else account.partition(":")[0]
