"""Answers that are in part, late, or of another moment; and failures that are to be handed on."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    DYNAMO,
    GATE,
    GRAB,
    LEDGER,
    PACKETS,
    QUEUE,
    QUOTA,
    RECALL_CAMPAIGN,
    RECALL_EMPTIED,
    REPAIR,
    SETTLE,
    SHARES,
    SQS,
    SWITCHES,
    TABLES,
    Mutant,
)

MUTANTS = [
    # Pages
    Mutant(
        "only the first page of a query is read",
        DYNAMO,
        'if "LastEvaluatedKey" not in page:',
        "if True:",
        within="Dynamo.query",
    ),
    Mutant(
        "only the first page of a scan is read",
        TABLES,
        "return found, json.dumps(end) if end else None",
        "return found, None",
    ),
    Mutant(
        "a page of what was sent has no room for the one that it goes on after",
        PACKETS,
        "limit + 2,",
        "limit,",
        within="DynamoPackets.list_sent",
    ),
    # Batches
    Mutant(
        "keys that a batch leaves unread are dropped",
        DYNAMO,
        'answer.get("UnprocessedKeys", {})',
        "dict[str, Any]()",
        within="Dynamo.get_many",
    ),
    Mutant(
        "only the first hundred keys are read",
        SHARES,
        "for start in range(0, len(row_keys), KEYS_PER_READ):",
        "for start in range(0, 1):",
        within="DynamoShares._get_all",
    ),
    Mutant(
        "messages of a batch that SQS refused are forgotten",
        SQS,
        'if answer.get("Failed"):',
        "if False:",
        within="SqsPayouts._put_chunk",
    ),
    Mutant(
        "only the first ten messages are queued",
        SQS,
        "while chunk := list(islice(waiting, _MESSAGES_PER_CALL)):",
        "if chunk := list(islice(waiting, _MESSAGES_PER_CALL)):",
        within="SqsPayouts.put",
    ),
    # Failures that are handed on
    Mutant(
        "what failed one by one is not told",
        SETTLE,
        "failed |= refused | _still_unsettled(unpaid, packets)",
        "pass",
        within="settle_claims",
    ),
    Mutant(
        "a claim that is refused counts as settled",
        SETTLE,
        "failed.add(ref)",
        "pass",
        within="_checked_all",
    ),
    Mutant(
        "messages of claims that failed are deleted",
        QUEUE,
        "unreadable + unsettled",
        "unreadable",
        within="settle_batch",
    ),
    Mutant(
        "failures are told by position",
        QUEUE,
        "[message_id for message_id, ref in named.items() if ref in failed]",
        "list(named)[: len(failed)]",
        within="settle_batch",
    ),
    Mutant(
        "conflicts of a settlement name the wrong claims",
        LEDGER,
        "owners[position] for position in conflict.positions",
        "owners[-1 - position] for position in conflict.positions",
        within="DynamoLedger.settle",
    ),
    Mutant(
        "conditions of a settlement name the wrong claims",
        LEDGER,
        "zip(owners, canceled.found, strict=True)",
        "zip(owners[::-1], canceled.found, strict=True)",
        within="DynamoLedger.settle",
    ),
    # What an index or a memory still says
    Mutant(
        "settled claims are queued again",
        REPAIR,
        "if share.settled_at_ms is None or share.is_last:",
        "if True:",
        within="_requeue",
    ),
    Mutant(
        "a reservation that came to nothing counts against the quota",
        QUOTA,
        "            self.costs.count(self.user_id)\n",
        "            raise QuotaExhausted(EXHAUSTED)\n",
        within="CampaignQuota.reserve",
    ),
    Mutant(
        "a campaign is remembered for ever",
        RECALL_CAMPAIGN,
        "0 <= now_ms - read_at_ms < KEPT_MS",
        "read_at_ms",
        within="CachedCampaigns.recall",
    ),
    Mutant(
        "who emptied a packet is remembered for ever",
        RECALL_EMPTIED,
        "if not 0 <= now_ms - known.seen_at_ms < EMPTIED_KEPT_MS:",
        "if False:",
        within="CachedEmptied.refuses",
    ),
    Mutant(
        "a switch is read once",
        SWITCHES,
        "self._read_at_ms is None or not 0 <= now_ms - self._read_at_ms < KEPT_MS",
        "self._read_at_ms is None",
        within="CachedSwitches.is_on",
    ),
    Mutant(
        "a refusal of a cache that lost its tail is not looked up",
        GRAB,
        "return _owned(packet_id, taker, ports)",
        "return None",
        within="_forgotten",
    ),
    Mutant(
        "owners whom an emptied packet has lost are not brought back",
        GRAB,
        "if not ports.claim_cache.begin_look(packet_id, 0, _LOOK_LIFE_MS):",
        "if True:",
        within="_bring_owners",
    ),
    # Another clock
    Mutant(
        "an admission ends by the clock of the process that gives it",
        GATE,
        "grab_token(terms.seed, self.packet_id, user_id, outcome.number)",
        "grab_token(terms.seed, self.packet_id, user_id, self.ports.clock.now_ms())",
        within="_GrabGate._admit",
    ),
]
