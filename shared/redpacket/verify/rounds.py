"""Checks rounds of the beacon: their chain, and that the chain has signed them."""

from __future__ import annotations

from redpacket.fairness.model.beacon import BeaconChain, BeaconRound
from redpacket.verify.files import Document, Unreadable, get, shown_time
from redpacket.verify.findings import Findings

QUICKNET = BeaconChain(
    "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971", 1_692_803_367, 3
)
QUICKNET_KEY = (
    "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451"
    "0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a"
)
"""Default drand chain of a deployment."""


def round_compared(
    chain: BeaconChain, beacon_round: BeaconRound, public_key: str, findings: Findings
) -> list[str]:
    """Return the checked and unchecked parts of one round. Raises Unreadable."""
    at, began = shown_time(chain.time_ms(beacon_round.round_no)), shown_time(chain.time_ms(1))
    return [
        f"beacon      round {beacon_round.round_no} of chain {chain.chain_hash}, signed at {at}",
        f"chain       begun at {began}, a round each {chain.period_s} s",
        f"signature   {_signature_checked(chain, beacon_round, public_key, findings)}",
        f"order       not proven: the commitment must have been known before {at}",
    ]


def _signature_checked(
    chain: BeaconChain, beacon_round: BeaconRound, public_key: str, findings: Findings
) -> str:
    """Verify a round by the chain's public key, and return words for the report."""
    if chain.chain_hash == QUICKNET.chain_hash:
        # Otherwise an old round would pass for a later one.
        findings.compare("the beacon's genesis_s", stated=chain.genesis_s, true=QUICKNET.genesis_s)
        findings.compare("the beacon's period_s", stated=chain.period_s, true=QUICKNET.period_s)
    if chain.chain_hash != QUICKNET.chain_hash and public_key == QUICKNET_KEY:
        return findings.skip("give the chain's key by --public-key")
    try:
        from redpacket.fairness.bls import PublicKey
    except ImportError:
        return findings.skip("it needs the package pyblst (pip install pyblst)")
    try:
        key = PublicKey(bytes.fromhex(public_key))
    except ValueError as error:
        raise Unreadable(f"the public key: {error}") from error
    findings.compare(
        f"signature of round {beacon_round.round_no}",
        stated="the chain's",
        true="the chain's"
        if key.has_signed(beacon_round.round_no, beacon_round.signature)
        else "forged",
    )
    return "compared with the chain's public key"


def chain_of(stated: Document) -> BeaconChain:
    """Return the chain of a proof's beacon. Raises Unreadable."""
    return BeaconChain(
        get(stated, "chain_hash", str), get(stated, "genesis_s", int), get(stated, "period_s", int)
    )


def signature_of(stated: Document) -> bytes:
    """Return the signature of a round. Raises Unreadable."""
    try:
        signature = bytes.fromhex(get(stated, "signature", str))
    except ValueError as error:
        raise Unreadable(f"the signature: {error}") from error
    if not signature:
        raise Unreadable("the signature is empty")
    return signature
