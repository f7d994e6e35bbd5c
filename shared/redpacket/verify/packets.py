"""Verifier that recomputes a packet's commitment and amounts from its terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redpacket.packets.errors import SplitImpossible
from redpacket.packets.split import Split, Terms, amounts_fen, seed_of
from redpacket.verify.files import COUNT_MAX, Document, Unreadable, get
from redpacket.verify.findings import Findings


def verify_packet(
    terms: Terms, documents: Sequence[tuple[str, Document]], noted: str | None = None
) -> Findings:
    """Compare a packet's values in *documents* with the values computed from its *terms*.

    Raises Unreadable.
    """
    findings = Findings()
    if noted is not None:
        findings.compare("the noted commitment", stated=noted.lower(), true=terms.commitment)
    try:
        amounts = amounts_fen(terms)
    except SplitImpossible as error:
        findings.differences.append(f"no packet has such terms: {error}")
        return findings
    for name, document in documents:
        stated = get(document, "commitment", str)
        findings.compare(f"{name}: commitment", stated=stated, true=terms.commitment)
        findings.compare(
            f"{name}: total_fen", stated=get(document, "total_fen", int), true=terms.total_fen
        )
        findings.compare(f"{name}: count", stated=get(document, "count", int), true=terms.count)
        if "seed" in document:
            _compare_page(name, document, terms, amounts, findings)
        else:
            split = get(document, "split", str)
            findings.compare(f"{name}: split", stated=split, true=str(terms.split))
            _compare_claims(name, document, amounts, findings)
    return findings


def _compare_page(
    name: str, page: Document, terms: Terms, amounts: Sequence[int], findings: Findings
) -> None:
    if terms_of(page) != terms:
        findings.differences.append(f"{name}: proves other terms")
    stated, first_no = get(page, "amounts_fen", list), get(page, "first_share_no", int)
    for share_no, amount_fen in enumerate(stated, start=first_no):
        _compare_share(name, share_no, amount_fen, amounts, findings)
    findings.amount_count += len(stated)
    # Without this check, a page that lacks the last amounts would pass as complete.
    last_no = first_no + len(stated) - 1
    true_next = str(last_no) if last_no < terms.count else None
    findings.compare(f"{name}: next", stated=page.get("next"), true=true_next)


def _compare_claims(
    name: str, record: Document, amounts: Sequence[int], findings: Findings
) -> None:
    for claim in _claims_of(record):
        if claim.get("amount_fen", 0) is None:
            continue  # The record hid the amount when it was read.
        share_no, amount_fen = get(claim, "share_no", int), get(claim, "amount_fen", int)
        _compare_share(name, share_no, amount_fen, amounts, findings)
        findings.note_owner(get(claim, "user_token", str), share_no)
        findings.claim_count += 1


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
    # Check the type, because True == 1.
    if type(amount_fen) is not int:
        raise Unreadable(f"{name}: the amount of share {share_no} is not an integer")
    true = amounts[share_no - 1] if 1 <= share_no <= len(amounts) else "no share"
    findings.compare(f"{name}: share {share_no}", stated=amount_fen, true=true)


def amounts_compared(terms: Terms, findings: Findings) -> list[str]:
    """Return a summary of a packet's compared amounts."""
    shares = f"{findings.amount_count} amounts of {terms.count} shares"
    return [
        f"terms       {terms}",
        f"commitment  {terms.commitment}",
        "order       not proven: the operator could have tried seeds before the send",
        f"compared    {shares}, {findings.claim_count} claims of records",
    ]


def terms_of(proof: Document) -> Terms:
    """Return the terms that a proof shows. Raises Unreadable."""
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
        )
    except ValueError as error:
        raise Unreadable(str(error)) from error
    if terms.seed_text != seed_text:
        raise Unreadable("seed is not in base64url without padding")
    if terms.count > COUNT_MAX:
        raise Unreadable("count is too large for any packet")
    return terms
