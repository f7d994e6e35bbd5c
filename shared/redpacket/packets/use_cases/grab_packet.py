"""Grab (抢): take a share at once or, for a two-step packet, get admitted to open (拆) one."""

from __future__ import annotations

from redpacket.operations.model.limits import PASSPHRASE_TRIES, wrong_tries
from redpacket.operations.use_cases.limit_rate import limit_guesses
from redpacket.packets.errors import NotInvited, PassphraseMismatch
from redpacket.packets.model.claim import Admission, AdmitStatus, Claim, GrabOutcome, GrabStatus
from redpacket.packets.model.grab_token import LIFE_MS, grab_token
from redpacket.packets.model.packet import Opening, Rules
from redpacket.packets.model.passphrase import is_alike, is_exact
from redpacket.packets.use_cases.campaign_quota import CampaignQuota, find_rules
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.packets.use_cases.claim_share import claim_packet
from redpacket.platform.errors import RateLimited, Rejected
from redpacket.platform.user import User


def grab_packet(
    packet_id: str,
    claimer: User,
    passphrase: str | None,
    via: str | None = None,
    *,
    ports: ClaimPorts,
) -> Claim | Admission:
    """Return the user's share or admission; *passphrase* is the optional passphrase.

    Raises as `claim_share`, and NotInvited, PassphraseMismatch, RateLimited, CampaignPaused.
    """
    user_id = claimer.user_id

    def check_rules(stored: str) -> Rules:
        rules = find_rules(packet_id, ports.packets)
        _check_invited(rules, user_id)
        _check_passphrase(rules, passphrase, packet_id, user_id, stored, ports)
        return rules

    def enter(
        rules: Rules, stored: str, quota: CampaignQuota
    ) -> Admission | GrabOutcome | Rejected:
        if rules.opening is not Opening.TWO_STEP:
            return quota.take(rules, stored)
        # The open step reserves the quota.
        return quota.find_refusal(rules) or _admit(packet_id, user_id, stored, ports)

    return claim_packet(packet_id, claimer, via, check_rules, enter, ports)


def _check_invited(rules: Rules, user_id: str) -> None:
    if not rules.invites(user_id):
        raise NotInvited


def _check_passphrase(
    rules: Rules,
    passphrase: str | None,
    packet_id: str,
    user_id: str,
    stored: str,
    ports: ClaimPorts,
) -> None:
    if rules.passphrase is None:
        return
    if not passphrase:
        raise PassphraseMismatch
    is_correct = is_exact(passphrase, rules.passphrase)
    # Until this point, right and wrong guesses take the same time.
    limit_guesses(
        PASSPHRASE_TRIES,
        user_id,
        wrong_tries(ports.seeds.read_terms(packet_id, stored).count),
        packet_id,
        is_spent=not is_correct,
        limits=ports.limits,
    )
    threshold, similarity = rules.passphrase_threshold, ports.phrases.similarity
    if not is_correct and not is_alike(passphrase, rules.passphrase, threshold, similarity):
        raise PassphraseMismatch


def _admit(packet_id: str, user_id: str, stored: str, ports: ClaimPorts) -> Admission | GrabOutcome:
    terms = ports.seeds.read_terms(packet_id, stored)
    outcome = ports.claim_cache.admit(
        packet_id, user_id, life_ms=LIFE_MS, admitted_max=terms.count * ports.admission_factor
    )
    if outcome.status is AdmitStatus.ADMITTED:
        token = grab_token(terms.seed, packet_id, user_id, outcome.number)
        return Admission(token, outcome.number)
    if outcome.status is AdmitStatus.CROWDED:
        wait_ms = max(1, outcome.number - ports.clock.now_ms())
        raise RateLimited("Too many users are opening this packet. Try again.", -(-wait_ms // 1000))
    share_no = outcome.number or None
    status = GrabStatus(outcome.status)
    is_certain = status is not GrabStatus.PACKET_EMPTIED or ports.claim_cache.knows_claimers(
        packet_id, user_id
    )
    return GrabOutcome(
        status, share_no, stored, is_gated=True, shard=outcome.shard, is_certain=is_certain
    )
