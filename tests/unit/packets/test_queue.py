import json
from collections.abc import Iterable
from typing import Any

import pytest

from local.packet_ids import PUBLISHED_IDS
from redpacket.packets.api.queue import settle_batch
from redpacket.packets.model.claim import ShareRef

PACKET_ID = PUBLISHED_IDS.sign("A" * 22)
CLAIM = {"packet_id": PACKET_ID, "share_no": 7}
MESSAGE = {"message_id": "m", "kind": "settle_claim", "version": 1, "body": CLAIM}


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "redpacket")


def _settle(*bodies: Any, **attributes: str) -> tuple[list[ShareRef], list[str]]:
    """Return the claims to settle, and the messages that failed."""
    share_refs: list[ShareRef] = []

    def settle(refs: Iterable[ShareRef]) -> set[ShareRef]:
        share_refs.extend(refs)
        return set()

    records = [
        {"messageId": str(number), "body": body if isinstance(body, str) else json.dumps(body)}
        | {"attributes": attributes}
        for number, body in enumerate(bodies)
    ]
    answer = settle_batch(records, settle=settle)
    return share_refs, [failed["itemIdentifier"] for failed in answer["batchItemFailures"]]


def test_a_message_names_a_claim_regardless_of_later_fields_in_its_envelope() -> None:
    later = {**MESSAGE, "trace": {"id": 1}}

    assert _settle(MESSAGE, later) == ([ShareRef(PACKET_ID, 7)] * 2, [])


WRONG_CLAIMS: list[dict[str, Any]] = [
    {"amount_fen": 1_000_000},
    *({"packet_id": packet_id} for packet_id in ("A" * 22, "A" * 31, 22)),
    *({"share_no": number} for number in ("7", 7.0, 0, -1, 10**4000)),
]
WRONG_MESSAGES: list[dict[str, Any]] = [
    {"kind": "pay_me"},
    {"version": 2},
    {"body": {}},
    *({"body": {**CLAIM, **wrong}} for wrong in WRONG_CLAIMS),
]


def test_a_message_without_a_claim_fails_alone() -> None:
    wrong = ({**MESSAGE, **changes} for changes in WRONG_MESSAGES)
    for poison in ("poison", "[" * 100_000, [], {}, *wrong):
        assert _settle(poison, MESSAGE) == ([ShareRef(PACKET_ID, 7)], ["0"])


def test_a_message_contains_the_time_when_its_claimer_was_named() -> None:
    at_ms = 1_795_000_000_000
    for stated, expected in ((at_ms, at_ms), ("1", 0), (-1, 0), (10**400, 0), (None, 0)):
        ((ref,), failed) = _settle({**MESSAGE, "occurred_at_ms": stated})
        assert (ref.said_at_ms, failed) == (expected, [])


def test_a_message_from_the_future_gets_the_time_of_its_send() -> None:
    for stated, expected in ((5, 5), (10, 10), (11, 10), (10**12, 10)):
        ((ref,), _) = _settle({**MESSAGE, "occurred_at_ms": stated}, SentTimestamp="10")

        assert ref.said_at_ms == expected


@pytest.mark.parametrize("nickname", ["客服", "\u5ba2\u200b\u670d", "\u3164", "\u202e ", " ", ""])
def test_a_message_gives_no_name_that_a_token_may_not_give(nickname: str) -> None:
    claimer = {"host_id": "ann", "nickname": nickname}

    ((bad, good), failed) = _settle(
        {**MESSAGE, "taker": claimer}, {**MESSAGE, "taker": {**claimer, "nickname": " Ann "}}
    )

    assert failed == []
    assert bad.claimer
    assert good.claimer
    assert (bad.claimer.host_id, bad.claimer.nickname, good.claimer.nickname) == (
        "ann",
        None,
        "Ann",
    )


def test_a_batch_logs_the_requests_that_claimed_its_shares(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _settle({**MESSAGE, "request_id": "JKJaXmPLvHcESHA="}, MESSAGE)

    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert (told["level"], told["message"]) == ("INFO", "settle")
    assert told["claims"] == [f"JKJaXmPLvHcESHA= {PACKET_ID}#7"]
