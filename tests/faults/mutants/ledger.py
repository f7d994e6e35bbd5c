"""Accounts, entries, receipts and packet rows."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    ANYTHING,
    Mutant,
)

MUTANTS = [
    # Conditions of the ledger
    Mutant(
        "a claim is credited as often as it is delivered",
        "IS_CLAIMED_AND_UNSETTLED",
        " AND attribute_not_exists(settled_at_ms)",
        "",
    ),
    Mutant("anybody is credited", "IS_CLAIMED_AND_UNSETTLED", "user_id = :user_id AND ", ""),
    Mutant(
        "any amount is credited", "IS_CLAIMED_AND_UNSETTLED", " AND amount_fen = :amount_fen", ""
    ),
    Mutant(
        "a refunded share that is claimed over is paid",
        "IS_CLAIMED_AND_UNSETTLED",
        " AND attribute_not_exists(refund_no)",
        "",
    ),
    Mutant(
        "a receipt may be written over",
        "DynamoLedger._receipts",
        "share.amount_fen, now_ms)\n                ),\n",
        f"share.amount_fen, now_ms)\n                ),\n                {ANYTHING},\n",
    ),
    Mutant(
        "a claim's entry may be written over",
        "DynamoLedger.settle",
        "own += [put(self._accounts, entry_row(entry)) for",
        f"own += [put(self._accounts, entry_row(entry), {ANYTHING}) for",
    ),
    Mutant(
        "who has several shares in a transaction is paid for one",
        "DynamoLedger.settle",
        "change_balance(self._accounts, account, transfers)",
        "change_balance(self._accounts, account, transfers[:1])",
    ),
    Mutant(
        "of several claims of a user whose balance is held one stands in the way",
        "DynamoLedger.settle",
        "for share, transfer in settlements if transfer in transfers}",
        "for share, transfer in settlements if transfer is transfers[0]}",
    ),
    Mutant(
        "accounts go below zero",
        "change_balance",
        "if fen < 0 and not",
        "if fen < -(10**15) and not",
    ),
    Mutant(
        "a repeated request moves money again",
        "transact_once",
        "put(table, remembered)",
        'put(table, remembered, condition="attribute_not_exists(no)")',
    ),
    Mutant(
        "a key reused with another body is not noticed",
        "result_of",
        'if before["body_hash"] != request.body_hash:',
        "if False:",
    ),
    Mutant(
        "an entry may be written over",
        "posting:post",
        "put(accounts_table, entry_row(entry))",
        'put(accounts_table, entry_row(entry), condition="attribute_not_exists(no)")',
    ),
    Mutant(
        "a packet row may be written over",
        "DynamoFunding.fund",
        "put(self._packets, items.packet_row(packet))",
        'put(self._packets, items.packet_row(packet), condition="attribute_not_exists(no)")',
    ),
    # Conditions of the packet rows
    Mutant(
        "a packet begins to close before its end",
        "IS_DUE",
        "expires_at_ms <= :now_ms AND #status",
        "#status",
    ),
    Mutant(
        "a closed packet is opened for closing again",
        "IS_DUE",
        "expires_at_ms <= :now_ms AND #status = :closing",
        "expires_at_ms <= :now_ms",
    ),
    Mutant(
        "a sweep that is behind another one changes a closed packet",
        "DynamoPackets.mark_step",
        "condition=IS_CLOSING",
        'condition="attribute_exists(pk)"',
    ),
    Mutant(
        "a refund waits for a cache that never knew the packet",
        "load_packets.load",
        "if clock.now_ms() < packet.expires_at_ms:",
        "if True:",
    ),
    Mutant(
        "a load that ends late puts a closed packet back to work",
        "DynamoPackets.mark_loaded",
        "condition=IS_UNLOADED",
        'condition="attribute_exists(pk)"',
    ),
    Mutant(
        "a settled claim is put back to work",
        "DynamoShares.mark_requeued",
        "condition=IS_WAITING",
        'condition="attribute_exists(pk)"',
    ),
    Mutant(
        "a sender of many packets gets a fair share of an idle sweep",
        "DynamoWorkLists._oldest",
        "        if full and spare >= len(full):\n",
        "        if False:\n",
    ),
    # Errors of AWS
    Mutant(
        "a missing permission is taken for an outage",
        "translated",
        "if code not in PASSING and status != TOO_MANY and status < _SERVER_ERROR:",
        "if False:",
    ),
    Mutant(
        "a second try of a transaction has a token of its own",
        "AwsClient._call",
        "time.sleep(random.uniform(0, wait_s))\n        return self._send(operation, body)",
        "return self._call(operation, **{k: v for k, v in arguments.items()"
        ' if k != "ClientRequestToken"})',
    ),
    Mutant(
        "what does not pass is asked of AWS again",
        "AwsClient._call",
        "if error.code not in PASSING and error.status != TOO_MANY:",
        "if False:",
    ),
    Mutant(
        "a connection that the server has closed is used again",
        "AwsClient._find_idle",
        " and not select.select([idle.sock], [], [], 0)[0]",
        "",
    ),
    Mutant(
        "an answer that is cut off counts",
        "AwsClient._send",
        "            if status == _OK:\n",
        "            if False:\n",
    ),
    Mutant(
        "a certificate of anybody is good for AWS",
        "_context",
        "return ssl.create_default_context(cafile=bundle or None)",
        "return ssl._create_unverified_context()",
    ),
    Mutant(
        "Amazon's roots are good for every host",
        "context_for",
        'if not bundle and f".{host}".endswith(_AMAZON):',
        "if not bundle:",
    ),
    Mutant(
        "a transaction that meets another one is not tried again",
        "Dynamo.transact",
        "if not set(codes) <= PASSING | _DECIDED:",
        "if True:",
    ),
    Mutant(
        "a failed condition beside a conflict is an answer",
        "Dynamo.transact",
        "if not conflicts:",
        'if "ConditionalCheckFailed" in codes:',
    ),
    Mutant(
        "a single write that meets a transaction counts as made",
        "Dynamo.write",
        """                except client.exceptions.TransactionConflictException:
                    pass
""",
        """                except client.exceptions.TransactionConflictException:
                    return True
""",
    ),
    Mutant(
        "a sender whose account is busy is told that the request is",
        "transact_once",
        "if 0 in conflict.positions:",
        "if conflict.positions:",
    ),
]
