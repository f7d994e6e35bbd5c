"""Verifies, offline, that a packet's amounts or a day's draws are what a commitment promised.

    PYTHONPATH=shared python3 -m redpacket.verify PROOF_FILE [FILE...]

Needs nothing but Python 3.11: no server and no package. The files hold what the API
answered about one packet: first `GET /packets/{packet_id}/proof`, then further pages of it, record
pages, or the answer of `POST /packets`. Or about one day of a lottery: first
`GET /campaigns/{campaign_id}/proof?day=20270129`, then pages of
`GET /campaigns/{campaign_id}/draws`, and `GET /campaigns/{campaign_id}`. A user's draws of the day
must be numbered 1, 2, 3, ...: give all pages, and the user's token by --user. With `log` as the
first word it verifies the public log of commitments: `redpacket/verify_log.py` says how.
Exits 0 where all of it is true, 1 where something is not, 2 where a file can't be read.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redpacket.domain.beacon import BeaconChain, BeaconRound, CampaignBeacon, PacketBeacon
from redpacket.domain.errors import SplitImpossible
from redpacket.domain.lottery import (
    NO_BEACON,
    SEED_BYTES,
    DrawDay,
    chain_commitment,
    choose,
    day_named,
    days_of_chain,
    draw_id_of,
    draw_point,
    point_text,
)
from redpacket.domain.split import NO_ROUND, Split, Terms, amounts_fen, seed_of
from redpacket.verify_files import Document, Unreadable, get, read, shown_time
from redpacket.verify_log import Checked, arguments_of, verify_log

TRUE, FALSE, UNREADABLE = 0, 1, 2
"""The exit codes."""

_COUNT_MAX = 1_000_000
"""No packet has more shares: a larger number must not cost hours."""

_SHOWN_MAX = 20
"""Differences that are printed; a wrong seed makes one for every share."""

QUICKNET = BeaconChain(
    "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971", 1_692_803_367, 3
)
QUICKNET_KEY = (
    "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451"
    "0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a"
)
"""The chain of drand that a deployment takes if it names no other."""

_PRIZE = r"[a-z0-9][a-z0-9_-]{0,62}:\d{1,15}"
_ODDS = re.compile(rf"(?:{_PRIZE}(?:,{_PRIZE})*)?\|\d{{1,15}}")
"""`prize_id:weight,...|miss_weight`; with no more digits than a double holds."""


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a lottery, with its seed, and what the beacon contributed."""

    campaign_id: str
    name: str
    seed: bytes
    beacon: CampaignBeacon | None = None
    round: BeaconRound | None = None

    @property
    def commitment(self) -> str:
        """What the campaign has shown since it was created."""
        return chain_commitment(self.campaign_id, self.seed, self.name, self.beacon)

    @property
    def randomness(self) -> str:
        """What of the beacon is in each point of the day."""
        return self.round.randomness if self.round else NO_BEACON

    @property
    def round_no(self) -> int | None:
        """The round that the day's draws took."""
        return self.round.round_no if self.round else None


@dataclass(slots=True)
class Findings:
    """What was compared, and what is not true; *rounds* are draws' own, by user and number."""

    amount_count: int = 0
    claim_count: int = 0
    draw_count: int = 0
    gone_count: int = 0
    other_day_count: int = 0
    rounds: dict[str, dict[int, BeaconRound]] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    def compare(self, what: str, *, said: object, true: object) -> None:
        """Note a difference between what a file says and what is true."""
        if said != true:
            self.differences.append(f"{what}: says {said}, is {true}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify the files that *arguments* name; return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["log"]:
        return _verify_log(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="redpacket.verify", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "proof", type=Path, help="answer of GET /packets/{packet_id}/proof, or of a campaign's"
    )
    parser.add_argument(
        "more",
        type=Path,
        nargs="*",
        help="further pages, record pages, the answer of POST /packets; pages of draws",
    )
    parser.add_argument("--commitment", help="what you noted before")
    parser.add_argument(
        "--public-key",
        default=QUICKNET_KEY,
        help="of the beacon's chain, in hex; drand's quicknet if you give none",
    )
    parser.add_argument("--user", help="your user_token, as GET /me shows it")
    options = parser.parse_args(arguments)
    try:
        documents = [(str(path), read(path)) for path in (options.proof, *options.more)]
        proof = documents[0][1]
        if "day" in proof:
            day = _day_of(proof)
            findings = verify_draws(day, documents, options.commitment, options.user)
            beacon = _beacon_compared(day, options.public_key, findings)
            compared = _draws_compared(day, findings, beacon)
        else:
            terms = _terms_of(proof)
            findings = verify(terms, documents, options.commitment)
            beacon = _packet_beacon_compared(terms, proof, options.public_key, findings)
            compared = _amounts_compared(terms, findings, beacon)
    except Unreadable as error:
        print(f"UNREADABLE: {error}", file=sys.stderr)
        return UNREADABLE
    _print_verdict(compared, findings.differences)
    return FALSE if findings.differences else TRUE


def _verify_log(arguments: Sequence[str]) -> int:
    options = arguments_of(arguments)
    try:
        documents = [(str(path), read(path)) for path in options.files]
        checked: Checked = verify_log(documents, options.id, options.commitment, options.key_id)
    except Unreadable as error:
        print(f"UNREADABLE: {error}", file=sys.stderr)
        return UNREADABLE
    _print_verdict(checked.lines, checked.differences)
    return FALSE if checked.differences else TRUE


def verify(
    terms: Terms, documents: Sequence[tuple[str, Document]], noted: str | None = None
) -> Findings:
    """Compare everything that named documents say of a packet with what its *terms* make of it.

    Raises Unreadable.
    """
    findings = Findings()
    if noted is not None:
        findings.compare("the noted commitment", said=noted.lower(), true=terms.commitment)
    try:
        amounts = amounts_fen(terms)
    except SplitImpossible as error:
        findings.differences.append(f"no packet has such terms: {error}")
        return findings
    for name, document in documents:
        said = get(document, "commitment", str)
        findings.compare(f"{name}: commitment", said=said, true=terms.commitment)
        findings.compare(
            f"{name}: total_fen", said=get(document, "total_fen", int), true=terms.total_fen
        )
        findings.compare(f"{name}: count", said=get(document, "count", int), true=terms.count)
        if "seed" in document:
            _compare_page(name, document, terms, amounts, findings)
        else:
            split = get(document, "split", str)
            findings.compare(f"{name}: split", said=split, true=str(terms.split))
            _compare_start(name, document, terms, findings)
            if terms.signature == NO_ROUND and _has_claims(document):
                findings.differences.append(f"{name}: claims, and the packet's round never came")
            _compare_claims(name, document, amounts, findings)
    return findings


def _compare_page(
    name: str, page: Document, terms: Terms, amounts: Sequence[int], findings: Findings
) -> None:
    if _terms_of(page) != terms:
        findings.differences.append(f"{name}: is a proof of other terms")
    said, first_no = get(page, "amounts_fen", list), get(page, "first_share_no", int)
    for share_no, amount_fen in enumerate(said, start=first_no):
        _compare_share(name, share_no, amount_fen, amounts, findings)
    findings.amount_count += len(said)
    # Or a page without the last amounts would pass for a whole one.
    last_no = first_no + len(said) - 1
    true_next = str(last_no) if last_no < terms.count else None
    findings.compare(f"{name}: next", said=page.get("next"), true=true_next)


def _compare_claims(
    name: str, record: Document, amounts: Sequence[int], findings: Findings
) -> None:
    for claim in _claims_of(record):
        if claim.get("amount_fen", 0) is None:
            continue  # hidden when the record was read
        share_no, amount_fen = get(claim, "share_no", int), get(claim, "amount_fen", int)
        _compare_share(name, share_no, amount_fen, amounts, findings)
        findings.claim_count += 1


def _compare_start(name: str, record: Document, terms: Terms, findings: Findings) -> None:
    """Compare when the packet starts with what its round was chosen by."""
    if terms.beacon and "starts_at_ms" in record:
        said, true = get(record, "starts_at_ms", int), PacketBeacon.parse(terms.beacon).starts_at_ms
        findings.compare(f"{name}: starts_at_ms", said=said, true=true)


def _has_claims(record: Document) -> bool:
    """Tell whether shares were taken, also where their amounts are hidden."""
    return record.get("claimed_count", 0) != 0 or any(_claims_of(record))


def _claims_of(record: Document) -> Iterator[Document]:
    claims = get(record, "claims", list) if "claims" in record else []
    for claim in (*claims, record.get("luckiest"), record.get("mine")):
        if isinstance(claim, dict):
            yield claim
        elif claim is not None:
            raise Unreadable("a claim is not a JSON object")


def _compare_share(
    name: str, share_no: int, amount_fen: object, amounts: Sequence[int], findings: Findings
) -> None:
    # Not by ==, which takes true for 1.
    if type(amount_fen) is not int:
        msg = f"{name}: the amount of share {share_no} is not an integer"
        raise Unreadable(msg)
    true = amounts[share_no - 1] if 1 <= share_no <= len(amounts) else "no share"
    findings.compare(f"{name}: share {share_no}", said=amount_fen, true=true)


def verify_draws(
    day: Day,
    documents: Sequence[tuple[str, Document]],
    noted: str | None = None,
    user: str | None = None,
) -> Findings:
    """Compare all that named documents say of one day's draws with what its seed makes of them.

    Raises Unreadable.
    """
    findings = Findings()
    if noted is not None:
        findings.compare("the noted commitment", said=noted.lower(), true=day.commitment)
    _check_round(day, findings)
    numbers: dict[str, set[int]] = {}
    for name, document in documents:
        if "items" in document:
            drawer = get(document, "user_token", str)
            findings.rounds.setdefault(drawer, {})
            if user is not None:
                findings.compare(f"{name}: user_token", said=drawer, true=user)
            seen = numbers.setdefault(drawer, set())
            for item in get(document, "items", list):
                if not isinstance(item, dict):
                    raise Unreadable("a draw is not a JSON object")
                _compare_draw(name, item, day, drawer, seen, findings)
        else:
            said_id = get(document, "campaign_id", str)
            findings.compare(f"{name}: campaign_id", said=said_id, true=day.campaign_id)
            said = get(document, "commitment", str)
            findings.compare(f"{name}: commitment", said=said, true=day.commitment)
    _check_order(numbers, findings)
    return findings


def _check_order(numbers: dict[str, set[int]], findings: Findings) -> None:
    """Demand that each user's draws of the day have no gap, and came one after the other."""
    for drawer, seen in numbers.items():
        for missing in sorted({*range(1, max(seen, default=0))} - seen)[:_SHOWN_MAX]:
            findings.differences.append(f"draw {missing} of {drawer} on that day is missing")
    for drawer, rounds in findings.rounds.items():
        named = [rounds[number].round_no for number in sorted(rounds)]
        if named != sorted(set(named)):
            # Or some were begun together, and the best one was completed first.
            findings.differences.append(f"draws of {drawer} began before the one before was over")


def _compare_draw(
    name: str, draw: Document, day: Day, drawer: str, seen: set[int], findings: Findings
) -> None:
    if get(draw, "day", str) != day.name:
        findings.other_day_count += 1
        return
    number, odds = get(draw, "n", int), get(draw, "odds", str)
    if not 1 <= number <= _COUNT_MAX:
        msg = f"no draw has the number {number}"
        raise Unreadable(msg)
    if not _ODDS.fullmatch(odds):
        msg = f"the odds of draw {number} can't be read"
        raise Unreadable(msg)
    what = f"{name}: draw {number}"
    if number in seen:
        findings.differences.append(f"{what}: is there twice")
    seen.add(number)
    own = _own_round(what, draw, day, findings)
    if own:
        findings.rounds[drawer][number] = own
    randomness = own.randomness if own else day.randomness
    point = draw_point(day.seed, day.campaign_id, drawer, number, randomness)
    prize_id, gone_id = choose(odds, point), draw.get("gone_prize_id")
    randomness = "{randomness}" if own or day.round else NO_BEACON
    formula = point_text("{seed}", day.campaign_id, drawer, number, randomness)
    true_id = draw_id_of(day.campaign_id, drawer, day.name, number)
    findings.compare(f"{what}: draw_id", said=get(draw, "draw_id", str), true=true_id)
    findings.compare(f"{what}: formula", said=get(draw, "formula", str), true=formula)
    if own is None:
        findings.compare(f"{what}: beacon_round", said=draw.get("beacon_round"), true=day.round_no)
    findings.compare(f"{what}: point", said=get(draw, "point", int), true=point)
    if gone_id is not None:
        # Only a draw that had to wait may miss by that, and it names the very prize.
        true_gone = prize_id if own else None
        findings.compare(f"{what}: gone_prize_id", said=gone_id, true=true_gone)
        findings.gone_count += 1
        prize_id = None
    said = draw.get("prize")
    said_id = get(said, "prize_id", str) if isinstance(said, dict) else said
    findings.compare(f"{what}: prize", said=said_id, true=prize_id)
    outcome = "won" if prize_id else "missed"
    findings.compare(f"{what}: outcome", said=get(draw, "outcome", str), true=outcome)
    findings.draw_count += 1


def _own_round(what: str, draw: Document, day: Day, findings: Findings) -> BeaconRound | None:
    """Return the round of a single draw, which its beginning named before the round existed."""
    if day.beacon is None or not day.beacon.is_per_draw:
        return None
    began_at_ms = get(draw, "attempted_at_ms", int)
    found = BeaconRound(get(draw, "beacon_round", int), _signature_of(draw))
    named = day.beacon.round_of_draw(began_at_ms)
    findings.compare(f"{what}: beacon_round", said=found.round_no, true=named)
    bounds = _bounds(day, day.beacon)
    is_within = bounds.starts_at_ms <= began_at_ms < bounds.ends_at_ms
    findings.compare(f"{what}: began on its day", said=True, true=is_within)
    return found


def _bounds(day: Day, beacon: CampaignBeacon) -> DrawDay:
    try:
        return day_named(beacon.timezone, day.name)
    except (ValueError, OSError, KeyError) as error:
        # A zone that this machine lacks is a KeyError.
        raise Unreadable(f"the days of {beacon.timezone}: {error}") from error


def _check_round(day: Day, findings: Findings) -> None:
    """Compare the round with the one that was named before it existed."""
    if day.beacon is None:
        return
    named = day.beacon.round_of(_bounds(day, day.beacon).starts_at_ms)
    if day.beacon.is_per_draw:
        findings.compare("beacon_round of the day", said=day.round_no, true=None)
    elif day.round:
        findings.compare("beacon_round", said=day.round.round_no, true=named)


def _beacon_compared(day: Day, public_key: str, findings: Findings) -> list[str]:
    """Say what was checked of the beacon, and what could not be."""
    if day.beacon is None:
        return ["beacon      none: the operator could have tried seeds before the campaign"]
    if day.beacon.is_per_draw:
        return _own_rounds_compared(day.beacon, public_key, findings)
    if day.round is None:
        if findings.draw_count:
            findings.differences.append("draws of a day whose round of the beacon is missing")
        return ["beacon      the day's round is missing"]
    return _round_compared(day.beacon.chain, day.round, public_key, findings)


def _packet_beacon_compared(
    terms: Terms, proof: Document, public_key: str, findings: Findings
) -> list[str]:
    """Say the same of a packet's round."""
    if not terms.beacon:
        return ["beacon      none: the operator could have tried seeds before the send"]
    if terms.signature == NO_ROUND:
        return ["beacon      the packet's round never came: every share went back"]
    beacon = PacketBeacon.parse(terms.beacon)
    said = get(proof, "beacon_round", int)
    findings.compare("beacon_round", said=said, true=beacon.round_no)
    found = BeaconRound(beacon.round_no, bytes.fromhex(terms.signature))
    return _round_compared(beacon.chain, found, public_key, findings)


def _round_compared(
    chain: BeaconChain, found: BeaconRound, public_key: str, findings: Findings
) -> list[str]:
    at, began = shown_time(chain.time_ms(found.round_no)), shown_time(chain.time_ms(1))
    return [
        f"beacon      round {found.round_no} of chain {chain.chain_hash}, signed at {at}",
        f"chain       begun at {began}, a round each {chain.period_s} s",
        f"signature   {_signatures_checked(chain, {found}, public_key, findings)}",
        f"order       not checked: the commitment must have been known before {at}",
    ]


def _own_rounds_compared(beacon: CampaignBeacon, public_key: str, findings: Findings) -> list[str]:
    rounds = {found for of_user in findings.rounds.values() for found in of_user.values()}
    told = f"{len(rounds)} rounds of chain {beacon.chain.chain_hash}, one for each draw"
    lines = [f"beacon      {told}"]
    if rounds:
        lines.append(
            f"signature   {_signatures_checked(beacon.chain, rounds, public_key, findings)}"
        )
    if findings.gone_count:
        lines.append(f"gone        not checked: the last units of {findings.gone_count} prizes")
    return [
        *lines,
        "order       not checked: compare odds and round with the `beacon_pending` that you got",
    ]


def _signatures_checked(
    chain: BeaconChain, rounds: Iterable[BeaconRound], public_key: str, findings: Findings
) -> str:
    if chain.chain_hash == QUICKNET.chain_hash:
        # Or a known round of long ago would pass for a later one.
        findings.compare("the beacon's genesis_s", said=chain.genesis_s, true=QUICKNET.genesis_s)
        findings.compare("the beacon's period_s", said=chain.period_s, true=QUICKNET.period_s)
    if chain.chain_hash != QUICKNET.chain_hash and public_key == QUICKNET_KEY:
        return "not checked: give the chain's key by --public-key"
    try:
        from redpacket.bls import PublicKey
    except ImportError:
        return "not checked: it needs the package pyblst (pip install pyblst)"
    try:
        key = PublicKey(bytes.fromhex(public_key))
    except ValueError as error:
        raise Unreadable(f"the public key: {error}") from error
    for found in rounds:
        findings.compare(
            f"signature of round {found.round_no}",
            said="the chain's",
            true="the chain's" if key.has_signed(found.round_no, found.signature) else "forged",
        )
    return "compared with the chain's public key"


def _draws_compared(day: Day, findings: Findings, beacon: Sequence[str]) -> list[str]:
    return [
        f"day         {day.name} of {day.campaign_id}",
        f"commitment  {day.commitment}",
        *beacon,
        f"compared    {findings.draw_count} draws, {findings.other_day_count} are of other days",
    ]


def _amounts_compared(terms: Terms, findings: Findings, beacon: Sequence[str]) -> list[str]:
    shares = f"{findings.amount_count} amounts of {terms.count} shares"
    return [
        f"terms       {terms}",
        f"commitment  {terms.commitment}",
        *beacon,
        f"compared    {shares}, {findings.claim_count} claims of records",
    ]


def _print_verdict(compared: Sequence[str], differences: Sequence[str]) -> None:
    for line in compared:
        print(line)
    for difference in differences[:_SHOWN_MAX]:
        print(f"WRONG       {difference}")
    count = len(differences)
    if count > _SHOWN_MAX:
        print(f"WRONG       and {count - _SHOWN_MAX} more")
    print(f"NOT VERIFIED, differences: {count}" if count else "VERIFIED")


def _terms_of(proof: Document) -> Terms:
    seed_text = get(proof, "seed", str)
    try:
        terms = Terms(
            Split(get(proof, "algorithm", str)),
            get(proof, "total_fen", int),
            get(proof, "count", int),
            get(proof, "share_fen_min", int),
            get(proof, "share_fen_max", int),
            get(proof, "unit_fen", int),
            seed_of(seed_text),
            beacon=_packet_beacon_of(proof),
            signature=_packet_signature_of(proof),
        )
    except ValueError as error:
        raise Unreadable(str(error)) from error
    if terms.seed_text != seed_text:
        raise Unreadable("seed is not in base64url without padding")
    if terms.count > _COUNT_MAX:
        raise Unreadable("count is above that of any packet")
    return terms


def _packet_beacon_of(proof: Document) -> str:
    """Return what names the packet's round, as the commitment has it; "" without one."""
    said = proof.get("beacon")
    if not isinstance(said, dict):
        return ""
    chain, committed_at_ms = _chain_of(said), get(said, "committed_at_ms", int)
    beacon = PacketBeacon(chain, committed_at_ms, get(said, "starts_at_ms", int))
    return str(PacketBeacon.parse(str(beacon)))


def _packet_signature_of(proof: Document) -> str:
    if not isinstance(proof.get("beacon"), dict):
        return ""
    if proof.get("signature") is None:
        return NO_ROUND
    return bytes.fromhex(get(proof, "signature", str)).hex()


def _chain_of(said: Document) -> BeaconChain:
    return BeaconChain(
        get(said, "chain_hash", str), get(said, "genesis_s", int), get(said, "period_s", int)
    )


def _day_of(proof: Document) -> Day:
    seed_text, name = get(proof, "seed", str), get(proof, "day", str)
    if not re.fullmatch(rf"[0-9a-f]{{{2 * SEED_BYTES}}}", seed_text):
        msg = f"seed is not {SEED_BYTES} bytes in hex"
        raise Unreadable(msg)
    try:
        days_of_chain(name)
    except ValueError as error:
        raise Unreadable(str(error)) from error
    said = proof.get("beacon")
    beacon = _beacon_of(said) if isinstance(said, dict) else None
    seed = bytes.fromhex(seed_text)
    return Day(get(proof, "campaign_id", str), name, seed, beacon, _round_of(proof, beacon))


def _beacon_of(said: Document) -> CampaignBeacon:
    committed_at_ms, timezone = get(said, "committed_at_ms", int), get(said, "timezone", str)
    # Answers of older versions know no single draws.
    is_per_draw = get({"is_per_draw": False, **said}, "is_per_draw", bool)
    beacon = CampaignBeacon(_chain_of(said), committed_at_ms, timezone, is_per_draw)
    try:
        return CampaignBeacon.parse(str(beacon))
    except ValueError as error:
        raise Unreadable(f"the beacon: {error}") from error


def _round_of(proof: Document, beacon: CampaignBeacon | None) -> BeaconRound | None:
    if beacon is None or proof.get("beacon_round") is None:
        return None
    return BeaconRound(get(proof, "beacon_round", int), _signature_of(proof))


def _signature_of(said: Document) -> bytes:
    try:
        return bytes.fromhex(get(said, "signature", str))
    except ValueError as error:
        raise Unreadable(f"the signature: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
