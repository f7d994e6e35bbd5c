"""Answers that are in part, late, or of another moment; and failures that are to be handed on."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    Mutant,
)

MUTANTS = [
    # Pages
    Mutant(
        "only the first page of a query is read",
        "Dynamo.query",
        'if "LastEvaluatedKey" not in page:',
        "if True:",
    ),
    Mutant(
        "only the first page of a scan is read",
        "DynamoTables.read",
        "return found, json.dumps(end) if end else None",
        "return found, None",
    ),
    Mutant(
        "a page of what was sent has no room for the one that it goes on after",
        "DynamoPackets.list_sent",
        "limit + 2,",
        "limit,",
    ),
    # Batches
    Mutant(
        "keys that a batch leaves unread are dropped",
        "Dynamo.get_across",
        'answer.get("UnprocessedKeys", {})',
        "dict[str, Any]()",
    ),
    Mutant(
        "only the first hundred keys are read",
        "DynamoShares._get_all",
        "for start in range(0, len(row_keys), KEYS_PER_READ):",
        "for start in range(0, 1):",
    ),
    Mutant(
        "messages of a batch that SQS refused are forgotten",
        "put_messages",
        'if answer.get("Failed"):',
        "if False:",
    ),
    Mutant(
        "only the first ten messages are queued",
        "put_messages",
        "while chunk := list(islice(waiting, _MESSAGES_PER_CALL)):",
        "if chunk := list(islice(waiting, _MESSAGES_PER_CALL)):",
    ),
    # Failures that are handed on
    Mutant(
        "what failed one by one is not told",
        "settle_claims:settle_claims",
        "failed |= refused | _still_unsettled(unpaid, packets)",
        "pass",
    ),
    Mutant(
        "a claim that is refused counts as settled",
        "_checked_all",
        "failed.add(ref)",
        "pass",
    ),
    Mutant(
        "messages of claims that failed are deleted",
        "settle_batch",
        "unreadable + unsettled",
        "unreadable",
    ),
    Mutant(
        "failures are told by position",
        "settle_batch",
        "[message_id for message_id, ref in named.items() if ref in failed]",
        "list(named)[: len(failed)]",
    ),
    Mutant(
        "conflicts of a settlement name the wrong claims",
        "DynamoLedger.settle",
        "writes[position].refusal({}) for position in conflict.positions",
        "writes[-1 - position].refusal({}) for position in conflict.positions",
    ),
    Mutant(
        "conditions of a settlement name the wrong claims",
        "DynamoLedger.settle",
        "refusals(writes, canceled)",
        "refusals(writes[::-1], canceled)",
    ),
    # What an index or a memory still says
    Mutant(
        "settled claims are queued again",
        "_requeue",
        "if share.settled_at_ms is None or share.is_last:",
        "if True:",
    ),
    Mutant(
        "a reservation that came to nothing counts against the quota",
        "CampaignQuota.reserve",
        "            self._ports.costs.count(self._user_id)\n",
        "            return QuotaExhausted(EXHAUSTED)\n",
    ),
    Mutant(
        "a campaign is remembered for ever",
        "CachedCampaigns.__init__",
        "kept_ms=KEPT_MS",
        "kept_ms=None",
    ),
    Mutant(
        "who emptied a packet is remembered for ever",
        "CachedEmptied.__init__",
        "kept_ms=EMPTIED_KEPT_MS",
        "kept_ms=None",
    ),
    Mutant(
        "a switch is read once",
        "CachedSwitches.__init__",
        "kept_ms=KEPT_MS",
        "kept_ms=None",
    ),
    Mutant(
        "what a process keeps never ages",
        "ProcessCache.find",
        "0 <= self._now_ms() - kept_at_ms < self._kept_ms",
        "True",
    ),
    Mutant(
        "a refusal of a cache that lost its tail is not looked up",
        "_own_or_refuse",
        "owned = _owned(packet_id, taker, ports)",
        "owned = None",
    ),
    Mutant(
        "owners whom an emptied packet has lost are not brought back",
        "_refuse",
        "if not answer.is_certain and ports.claim_cache.begin_look(packet_id, 0, _LOOK_LIFE_MS):",
        "if False:",
    ),
    # Another clock
    Mutant(
        "an admission ends by the clock of the process that gives it",
        "_admit",
        "grab_token(terms.seed, packet_id, user_id, outcome.number)",
        "grab_token(terms.seed, packet_id, user_id, ports.clock.now_ms())",
    ),
]
