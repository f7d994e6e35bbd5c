"""Remove each safety condition, one at a time: the simulation or a test must notice every one.

Each mutant is a copy of the tree with one text replaced. First it plays simulated schedules; what
those don't notice, the unit and contract tests must (on the fakes and a real cache: no emulator).

    python -m tests.faults.mutants [--only NAME] [--of packets|draws]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCHEDULES = {"packets": 200, "draws": 100}
TIMEOUT_S = 240

LEDGER = "shared/redpacket/adapters/dynamo_ledger.py"
PACKETS = "shared/redpacket/adapters/dynamo_packets.py"
SHARES = "shared/redpacket/adapters/dynamo_shares.py"
PAGES = "shared/redpacket/adapters/dynamo_pages.py"
GRAB = "shared/redpacket/flows/claim_share.py"
GATE = "shared/redpacket/flows/grab_packet.py"
SETTLE = "shared/redpacket/flows/settle_claims.py"
CLOSE = "shared/redpacket/flows/close_packet.py"
CLOSING = "shared/redpacket/domain/closing.py"
EXPIRE = "shared/redpacket/flows/expire_packets.py"
IMPATIENT = "shared/redpacket/flows/impatient_cache.py"
REFUND = "shared/redpacket/flows/refund_packet.py"
PROOF = "shared/redpacket/flows/read_proof.py"
PRESPLIT = "shared/redpacket/domain/split/presplit.py"
REPAIR = "shared/redpacket/flows/repair.py"
CAMPAIGNS = "shared/redpacket/adapters/dynamo_campaigns.py"
BOARD = "shared/redpacket/adapters/redis_claims.py"
CLIENT = "shared/redpacket/adapters/redis_client.py"
CLUSTER = "shared/redpacket/adapters/redis_cluster.py"
CACHE = "shared/redpacket/adapters/redis_cache.py"
AWS = "shared/redpacket/adapters/aws_errors.py"
AWS_CLIENT = "shared/redpacket/adapters/aws_client.py"
TLS = "shared/redpacket/adapters/tls.py"
DYNAMO = "shared/redpacket/adapters/dynamo.py"
SEND = "shared/redpacket/flows/send_packet.py"
RECONCILE = "shared/redpacket/flows/reconcile.py"
COMPARE = "shared/redpacket/flows/compare_books.py"
AUDIT = "shared/redpacket/flows/audit_packet.py"
DRAWS = "shared/redpacket/adapters/dynamo_draws.py"
DRAW = "shared/redpacket/flows/draw_prize.py"
HELP = "shared/redpacket/flows/help_inviter.py"
PRIZE = "shared/redpacket/flows/edit_prize.py"
RECALLED = "shared/redpacket/flows/recall_lottery.py"
DRAWN = "shared/redpacket/flows/read_draws.py"
PARTS = "shared/redpacket/flows/try_parts.py"
IDS = "shared/redpacket/domain/packet_id.py"
LOAD = "shared/redpacket/flows/load_packet.py"

# They look at the tree and not at what the code does: test_mutants would catch every mutant.
_TESTS_OF_TEXTS = ("test_docs.py", "test_openapi.py", "test_mutants.py", "test_fairness_page.py")

_LEFT_OUT = (".git", ".local", ".aws-sam", "__pycache__", "integration")
"""Of the copy that a mutant is; what needs the deployed system can't run there."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One safety condition less."""

    name: str
    file: str
    old: str
    new: str
    of: str = "packets"
    """The schedules that it plays."""


def _of_draws(name: str, file: str, old: str, new: str) -> Mutant:
    return Mutant(name, file, old, new, of="draws")


_ANYTHING = 'condition="attribute_not_exists(nothing)"'


def _overwritten(name: str, row: str) -> Mutant:
    """Put a row of a draw whatever is there."""
    return _of_draws(name, DRAWS, f"{row})", f"{row}, {_ANYTHING})")


def _recreated(name: str, file: str, operation: str, of: str = "packets") -> Mutant:
    """Create a row whatever is there."""
    condition = 'ConditionExpression="attribute_not_exists(nothing)"'
    return Mutant(
        name, file, operation, f'dict(Update=dict({operation}["Update"], {condition}))', of
    )


MUTANTS = [
    # Conditions of the share fates
    _recreated(
        "a share's fate may be overwritten by a claim",
        SHARES,
        "create(self._shares, items.share_row(share))",
    ),
    _recreated(
        "a user may take a second share",
        SHARES,
        "create(self._shares, items.taker_row(share, user_id))",
    ),
    _recreated(
        "a share's fate may be overwritten by a refund",
        LEDGER,
        "create(self._shares, items.share_row(share))",
    ),
    Mutant(
        "whatever is created may be there",
        DYNAMO,
        'f"SET {expression}", condition="attribute_not_exists(pk)", **rest',
        'f"SET {expression}", condition="attribute_not_exists(nothing)", **rest',
    ),
    Mutant(
        "a user may take more than the quota",
        SHARES,
        " OR claim_count < :count_max",
        " OR claim_count >= :one",
    ),
    # Rules of packets
    Mutant(
        "a claim is not counted against the quota",
        GRAB,
        "gate.quota() if outcome.is_gated else None",
        "None",
    ),
    Mutant(
        "a number over the quota stays taken",
        GRAB,
        "        desk.board.free(share.packet_id, taker.user_id, share.share_no)\n",
        "",
    ),
    Mutant(
        "anybody opens a packet in two steps",
        "shared/redpacket/flows/open_packet.py",
        "        check_grab_token(self.grab_token, terms.seed, ",
        "        (lambda *_: None)(self.grab_token, terms.seed, ",
    ),
    Mutant("the uninvited get a share", GATE, "        self._check_invited(rules)\n", ""),
    Mutant("nobody has to say the passphrase", GATE, "        self._check_passphrase(rules)\n", ""),
    Mutant(
        "tries at a passphrase are not limited",
        GATE,
        "        limit_rate(\n",
        "        dict(  # type: ignore\n",
    ),
    Mutant(
        "a packet in two steps is taken in one",
        GATE,
        "rules.opening is Opening.TWO_STEP",
        "False",
    ),
    Mutant(
        "one more is admitted than there are places",
        "lua/packet_admit.lua",
        ">= admitted_max",
        "> admitted_max",
    ),
    Mutant(
        "a packet with rules hands out shares like a plain one",
        BOARD,
        "        if is_gated:\n",
        "        if False:\n",
    ),
    # Conditions of the ledger
    Mutant(
        "a claim is credited as often as it is delivered",
        LEDGER,
        " AND attribute_not_exists(settled_at_ms)",
        "",
    ),
    Mutant("anybody is credited", LEDGER, "user_id = :user_id AND ", ""),
    Mutant("any amount is credited", LEDGER, " AND amount_fen = :amount_fen", ""),
    Mutant(
        "a refunded share that is claimed over is paid",
        LEDGER,
        " AND attribute_not_exists(refund_no)",
        "",
    ),
    Mutant(
        "a receipt may be written over",
        LEDGER,
        "share.amount_fen, now_ms)\n                ),\n",
        f"share.amount_fen, now_ms)\n                ),\n                {_ANYTHING},\n",
    ),
    Mutant(
        "a claim's entry may be written over",
        LEDGER,
        "own += [put(self._accounts, entry_row(entry)) for",
        f"own += [put(self._accounts, entry_row(entry), {_ANYTHING}) for",
    ),
    Mutant(
        "who has several shares in a transaction is paid for one",
        LEDGER,
        "operations.append(self._change_balance(account, transfers))",
        "operations.append(self._change_balance(account, transfers[:1]))",
    ),
    Mutant(
        "of several claims of a user whose balance is held one stands in the way",
        LEDGER,
        "for share, transfer in settlements if transfer in transfers})",
        "for share, transfer in settlements if transfer is transfers[0]})",
    ),
    Mutant(
        "accounts go below zero", LEDGER, "needs_cover = fen < 0", "needs_cover = fen < -10**15"
    ),
    Mutant(
        "a repeated request moves money again",
        LEDGER,
        "operations = [put(table, remembered)]",
        'operations = [put(table, remembered, condition="attribute_not_exists(no)")]',
    ),
    Mutant(
        "a key reused with another body is not noticed",
        LEDGER,
        'if before["body_hash"] != request.body_hash:',
        "if False:",
    ),
    Mutant(
        "an entry may be written over",
        LEDGER,
        "book.append(put(self._accounts, entry_row(entry)))",
        'book.append(put(self._accounts, entry_row(entry), condition="attribute_not_exists(no)"))',
    ),
    Mutant(
        "a packet row may be written over",
        LEDGER,
        "put(self._packets, items.packet_row(packet))",
        'put(self._packets, items.packet_row(packet), condition="attribute_not_exists(no)")',
    ),
    # The end of packets
    Mutant(
        "a closed packet is closed again",
        LEDGER,
        "attribute_exists(pk) AND #status <> :closed",
        "attribute_exists(pk)",
    ),
    Mutant(
        "a packet ends while a claim is not settled",
        CLOSING,
        "if not is_whole or any(share.settled_at_ms is None for share in claimed):",
        "if not is_whole:",
    ),
    Mutant(
        "a packet ends while a share has no fate",
        CLOSING,
        "if not is_whole or any(share.settled_at_ms is None for share in claimed):",
        "if any(share.settled_at_ms is None for share in claimed):",
    ),
    Mutant(
        "a packet closes with sums that are not its total",
        CLOSE,
        "if total.claimed_fen + total.refunded_fen != packet.terms.total_fen:",
        "if False:",
    ),
    Mutant(
        "in parts: a packet closes before all of them have ended",
        CLOSE,
        "if len(ends) < part_count(packet.packet_id):",
        "if False:",
    ),
    Mutant(
        "in parts: the end of one may change",
        PACKETS,
        "self._dynamo.write(put(self._packets, row))",
        f"self._dynamo.write(put(self._packets, row, {_ANYTHING}))",
    ),
    Mutant(
        "a payout closes a packet before the sweep has told the cache",
        CLOSE,
        "if packet.status is PacketStatus.CLOSING:",
        "if False:",
    ),
    Mutant(
        "a final page may change",
        PAGES,
        '{**key, "claims": _packed(page)})',
        f'{{**key, "claims": _packed(page)}}, {_ANYTHING})',
    ),
    Mutant(
        "a claim that is written after the close is paid",
        SETTLE,
        "if share.settled_at_ms is None and packet.status is PacketStatus.CLOSED:",
        "if False:",
    ),
    Mutant(
        "the last claim leaves the work list once it is settled",
        LEDGER,
        'removed = "" if share.is_last else',
        "removed =",
    ),
    Mutant(
        "settled claims stay in the work list",
        LEDGER,
        'removed = "" if share.is_last else " REMOVE work_pk, work_at_ms"',
        'removed = ""',
    ),
    Mutant(
        "the last claim leaves the work list before its packet has ended",
        SETTLE,
        "        elif clock.now_ms() - share.decided_at_ms < ASKED_AGAIN_MS:\n",
        "        else:\n            packets.mark_done(share)\n"
        "        if clock.now_ms() - share.decided_at_ms < ASKED_AGAIN_MS:\n",
    ),
    Mutant(
        "the last claim never leaves the work list",
        SETTLE,
        "            packets.mark_done(share)\n",
        "            pass\n",
    ),
    Mutant(
        "the last claim is not asked again while others settle",
        SETTLE,
        "            payouts.put([share.ref], delay_s=ASK_AGAIN_S)\n",
        "            pass\n",
    ),
    Mutant(
        "the sweep does not ask again for the end of a packet",
        REPAIR,
        "if share.settled_at_ms is None or share.is_last:",
        "if share.settled_at_ms is None:",
    ),
    Mutant(
        "a claim that is not settled leaves the work list",
        SHARES,
        "condition=IS_SETTLED",
        'condition="attribute_exists(pk)"',
    ),
    # Conditions of campaigns
    Mutant("a budget is overspent", CAMPAIGNS, " AND budget_left_fen >= :spent", ""),
    Mutant("a campaign that is off gives", CAMPAIGNS, "#status = :on AND ", ""),
    Mutant("a campaign that is over gives", CAMPAIGNS, "ends_at_ms >= :later_ms AND ", ""),
    Mutant(
        "a packet leaves the budget as it is",
        CAMPAIGNS,
        "change_fen=-spent_fen",
        "change_fen=0",
    ),
    Mutant(
        "a budget is lowered below what was spent",
        CAMPAIGNS,
        'condition=f"{IS_AS_READ} AND {CAN_GIVE_UP}"',
        "condition=IS_AS_READ",
    ),
    Mutant(
        "an edit undoes another",
        CAMPAIGNS,
        'IS_AS_READ = "version = :read_version"',
        'IS_AS_READ = "version >= :read_version"',
    ),
    Mutant(
        "an edit gives back what was spent meanwhile",
        CAMPAIGNS,
        "SET budget_left_fen = budget_left_fen + :change_fen,",
        "SET budget_left_fen = :budget_fen,",
    ),
    # Conditions of the packet rows
    Mutant(
        "a packet begins to close before its end",
        PACKETS,
        "expires_at_ms <= :now_ms AND #status",
        "#status",
    ),
    Mutant(
        "a closed packet is opened for closing again",
        PACKETS,
        "expires_at_ms <= :now_ms AND #status <> :closed",
        "expires_at_ms <= :now_ms",
    ),
    Mutant(
        "a sweep that is behind another one changes a closed packet",
        PACKETS,
        "condition=IS_CLOSING",
        'condition="attribute_exists(pk)"',
    ),
    Mutant(
        "a refund waits for a cache that never knew the packet",
        REPAIR,
        "if clock.now_ms() < packet.expires_at_ms:",
        "if True:",
    ),
    Mutant(
        "a load that ends late puts a closed packet back to work",
        PACKETS,
        "condition=IS_UNLOADED",
        'condition="attribute_exists(pk)"',
    ),
    Mutant(
        "a settled claim is put back to work",
        SHARES,
        "condition=IS_WAITING",
        'condition="attribute_exists(pk)"',
    ),
    Mutant(
        "a sender of many packets gets a fair share of an idle sweep",
        SHARES,
        "        if full and spare >= len(full):\n",
        "        if False:\n",
    ),
    # Parts of a hot packet
    Mutant(
        "in parts: what is taken elsewhere is not noted where the user begins",
        PARTS,
        "            self._board.note(part_id(packet_id, home), {user_id: -share_no})\n",
        "            pass\n",
    ),
    Mutant(
        "in parts: a part that came back alone is taken for a whole one",
        PARTS,
        "is_whole = part is None or",
        "is_whole = True or",
    ),
    Mutant(
        "in parts: a part that lost its notes refuses owners",
        GRAB,
        "error is PacketExpired or not outcome.is_certain",
        "error is PacketExpired",
    ),
    Mutant(
        "in parts: what is uncertain before the gate is certain behind it",
        GRAB,
        "            outcome = replace(outcome, is_certain=asked.is_certain)\n",
        "",
    ),
    Mutant(
        "in parts: the cache forgets that a part lost its notes",
        BOARD,
        '("" if is_whole else _FORGETFUL)',
        '""',
    ),
    Mutant(
        "in parts: the users of others are not noted where they begin",
        PARTS,
        "            self._board.note(part_id(packet_id, home), numbers)\n",
        "            pass\n",
    ),
    Mutant(
        "in parts: a part's number is told for the packet's",
        PARTS,
        "return share_no_of(packet_id, part, number) if number > 0",
        "return number if number > 0",
    ),
    Mutant(
        "in parts: each part hands out the numbers of all",
        BOARD,
        "count = part_size(packet, part)",
        "count = packet.terms.count",
    ),
    Mutant(
        "in parts: a note hides the rules that a claim counts against",
        PARTS,
        "        if not outcome.terms:\n",
        "        if False:\n",
    ),
    Mutant(
        "in parts: nobody looks into another part",
        PARTS,
        "for part in other_parts(packet_id, user_id):",
        "for part in other_parts(packet_id, user_id)[:0]:",
    ),
    Mutant(
        "in parts: what is emptied is remembered for ever",
        PARTS,
        "0 <= self._clock.now_ms() - seen_at_ms < KEPT_MS",
        "seen_at_ms > 0",
    ),
    Mutant(
        "in parts: a number that is somebody else's stays noted",
        PARTS,
        "for part in dict.fromkeys((of_share, home)):",
        "for part in (of_share,):",
    ),
    Mutant(
        "in parts: a number that is free again stays noted",
        PARTS,
        "            self._board.disown(part_id(packet_id, home), user_id, -share_no)\n",
        "            pass\n",
    ),
    Mutant(
        "in parts: only the first one is closed",
        PARTS,
        "for board_id in _board_ids(packet_id):",
        "for board_id in _board_ids(packet_id)[:1]:",
    ),
    Mutant(
        "in parts: a collision brings back the wrong one",
        GRAB,
        "        part = part_of_share(share.packet_id, share.share_no)\n",
        "        part = 0\n",
    ),
    Mutant(
        "in parts: a note shortens its part's life",
        "lua/packet_load.lua",
        "until_ms, 'NX')",
        "until_ms)",
    ),
    # Order and rules of the flows
    Mutant(
        "the amount is told before it is durable",
        GRAB,
        "    recorded = desk.packets.record_claim(share, quota)\n",
        "    try:\n        recorded = desk.packets.record_claim(share, quota)\n"
        "    except Unavailable:\n        return Claim(share, is_new=True)\n",
    ),
    Mutant(
        "a repeat is believed without a look at the ledger",
        GRAB,
        "        owned = _owned(packet_id, taker, desk)\n        if owned and",
        "        owned = _claimed_share(packet_id, taker, outcome, desk)\n        if",
    ),
    Mutant(
        "a number that is somebody else's is not burnt",
        GRAB,
        "        desk.board.disown(share.packet_id, taker.user_id, share.share_no)\n",
        "",
    ),
    Mutant(
        "a number that is given back is lost",
        GRAB,
        "        desk.board.give_back(",
        "        (lambda *_, **__: None)(",
    ),
    Mutant(
        "a claim in flight is paid after its refund", GRAB, "RecordStatus.SHARE_REFUNDED", "None"
    ),
    Mutant(
        "a claim is not queued",
        GRAB,
        "        desk.payouts.put([claim.share.ref])\n",
        "        pass\n",
    ),
    Mutant(
        "a batch that names a claim twice is not deduplicated",
        SETTLE,
        "waiting = list(dict.fromkeys(refs))",
        "waiting = list(refs)",
    ),
    Mutant(
        "an amount that differs from the terms is paid",
        SETTLE,
        "share.amount_fen != share_amount_fen(terms, share_no)",
        "False",
    ),
    Mutant(
        "one changed claim keeps the others of its batch from being paid",
        SETTLE,
        "        left = [one for one in left if one[0].ref not in in_the_way]\n",
        "        return unpaid | {share.ref for share, _ in left}\n",
    ),
    Mutant(
        "a claim that could not be paid counts as paid",
        SETTLE,
        "failed |= refused | _still_unsettled(unpaid, packets)",
        "failed |= refused",
    ),
    Mutant(
        "a claim that is paid meanwhile counts as failed",
        SETTLE,
        "if share.settled_at_ms is None}",
        "if share}",
    ),
    Mutant(
        "a packet whose end was moved is refunded all the same",
        EXPIRE,
        "    if closing.packet.status is not PacketStatus.CLOSING:\n",
        "    if False:\n",
    ),
    Mutant("the cache is not closed", EXPIRE, "  desk.cache.close(packet_id)\n", "  pass\n"),
    Mutant("there is no grace", EXPIRE, "        clock.sleep_ms(grace_ms)\n", "        pass\n"),
    Mutant(
        "a cancelled refund is counted as done",
        REFUND,
        "if not self._desk.ledger.refund([(chunk, transfer)], now_ms):",
        "if self._desk.ledger.refund([(chunk, transfer)], now_ms) is None:",
    ),
    Mutant(
        "a cancelled refund of several packets is counted as done",
        REFUND,
        "if refunds and not desk.ledger.refund(refunds, now_ms):",
        "if refunds and desk.ledger.refund(refunds, now_ms) is None:",
    ),
    Mutant(
        "one bad packet keeps those that are refunded with it from their refund",
        REFUND,
        "except Exception:  # noqa: BLE001 - one bad packet must not keep",
        "except MemoryError:  #",
    ),
    Mutant(
        "more is refunded together than a transaction takes",
        REFUND,
        "used + needed > OPERATIONS_PER_TRANSACTION",
        "used + needed > 2 * OPERATIONS_PER_TRANSACTION",
    ),
    Mutant(
        "packets in parts are refunded like those in one",
        REFUND,
        "        if is_cut(packet.packet_id):\n            needed",
        "        if False:\n            needed",
    ),
    Mutant(
        "refunds of one sender meet on their balance",
        EXPIRE,
        "lanes[packet.sender.user_id].append(packet)",
        "lanes[packet.packet_id].append(packet)",
    ),
    Mutant(
        "who asks while the switches are read goes on",
        EXPIRE,
        "        with turn:\n            return may_go_on()\n",
        "        return may_go_on()\n",
    ),
    Mutant(
        "two threads ask the cache at a time",
        IMPATIENT,
        "        with self._turn:\n",
        "        if True:\n",
    ),
    Mutant(
        "one unreadable packet keeps all of its read from their refund",
        EXPIRE,
        "except Exception:  # noqa: BLE001 - one bad row must not keep",
        "except MemoryError:  #",
    ),
    Mutant(
        "a part that was cut off is taken for done",
        REFUND,
        "if self._desk.is_over() or not do(step % parts):",
        "if self._desk.is_over() or do(step % parts) is None:",
    ),
    Mutant(
        "owners that the cache forgot stay forgotten after the close",
        REFUND,
        "                desk.cache.load(packet, shares, part)\n",
        "                pass\n",
    ),
    Mutant(
        "claims that were cut off are not queued again",
        REPAIR,
        "                payouts.put([ref])\n",
        "",
    ),
    Mutant(
        "packets whose load was cut off wait for ever",
        REPAIR,
        "        packets.mark_loaded(packet)\n",
        "        pass\n",
    ),
    Mutant(
        "a refund waits for the cache",
        EXPIRE,
        "    except Unavailable as error:\n",
        "    except InvariantViolated as error:\n",
    ),
    Mutant(
        "a repeat is refused because limits were lowered since",
        SEND,
        "if first_id := ledger.find_sent(order.request):",
        'if first_id := "":',
    ),
    Mutant(
        "a cache that refuses one packet is taken for one that is away",
        IMPATIENT,
        "            except CacheAway:\n",
        "            except Exception:\n",
    ),
    Mutant(
        "a cache that is away is waited for with every packet",
        IMPATIENT,
        "                self._is_away = True\n",
        "                pass\n",
    ),
    # Errors of AWS
    Mutant(
        "a missing permission is taken for an outage",
        AWS,
        "if code not in PASSING and status != TOO_MANY and status < _SERVER_ERROR:",
        "if False:",
    ),
    Mutant(
        "a second try of a transaction has a token of its own",
        AWS_CLIENT,
        "        return self._send(operation, body)\n\n",
        "        return self._call(operation, **{k: v for k, v in arguments.items()"
        ' if k != "ClientRequestToken"})\n\n',
    ),
    Mutant(
        "what does not pass is asked of AWS again",
        AWS_CLIENT,
        "if error.code not in PASSING and error.status != TOO_MANY:",
        "if False:",
    ),
    Mutant(
        "a connection that the server has closed is used again",
        AWS_CLIENT,
        " and not select.select([idle.sock], [], [], 0)[0]",
        "",
    ),
    Mutant(
        "an answer that is cut off counts",
        AWS_CLIENT,
        "            if status == _OK:\n",
        "            if False:\n",
    ),
    Mutant(
        "a certificate of anybody is good for AWS",
        TLS,
        "return ssl.create_default_context(cafile=bundle or None)",
        "return ssl._create_unverified_context()",
    ),
    Mutant(
        "Amazon's roots are good for every host",
        TLS,
        'if not bundle and f".{host}".endswith(_AMAZON):',
        "if not bundle:",
    ),
    Mutant(
        "a transaction that meets another one is not tried again",
        DYNAMO,
        "if not set(codes) <= PASSING | _DECIDED:",
        "if True:",
    ),
    Mutant(
        "a failed condition beside a conflict is an answer",
        DYNAMO,
        "if not conflicts:",
        'if "ConditionalCheckFailed" in codes:',
    ),
    Mutant(
        "a single write that meets a transaction counts as made",
        DYNAMO,
        """                except client.exceptions.TransactionConflictException:
                    pass
""",
        """                except client.exceptions.TransactionConflictException:
                    return True
""",
    ),
    Mutant(
        "a sender whose account is busy is told that the request is",
        LEDGER,
        "if 0 in conflict.positions:",
        "if conflict.positions:",
    ),
    # Reconciliation
    Mutant(
        "takers' rows are compared with claims by their number alone",
        COMPARE,
        'return f"taker {taker.user_id}',
        'return "taker" or f"',
    ),
    Mutant(
        "takers' rows are not compared with claims",
        COMPARE,
        "self._add(self._sums, row.packet_id, _taker_text",
        "dict(a=self._sums, b=row.packet_id) or (_taker_text",
    ),
    Mutant(
        "entries are compared with fates by their number alone",
        COMPARE,
        'return f"entry {entry.account}',
        'return "entry" or f"',
    ),
    Mutant(
        "receipts are not compared with fates",
        COMPARE,
        "        if self._has_receipts:\n",
        "        if False:\n",
    ),
    Mutant(
        "shares of no packet are not told",
        RECONCILE,
        "found = check_packet_exists(fates, ())",
        "found = check_packet_exists([], ())",
    ),
    Mutant(
        "entries that no fate asks for are not told",
        RECONCILE,
        "if (entry.transfer_id, entry.account) not in wanted",
        "if entry not in book",
    ),
    Mutant(
        "audits do not look at takers' rows",
        AUDIT,
        " + check_takers(facts.shares, takers)",
        "",
    ),
    Mutant(
        "audits do not look at entries",
        AUDIT,
        "found += check_postings(facts, posted) + ",
        "found += ",
    ),
    Mutant(
        "audits do not look at receipts",
        AUDIT,
        "        found += check_receipts(facts, receipts)\n",
        "        pass\n",
    ),
    Mutant(
        "what an audit saw of two moments is taken for a difference",
        AUDIT,
        "return [found for found in differences() if found in first] if first else []",
        "return first",
    ),
    # The cache
    Mutant(
        "a packet that ended long ago is forgotten as soon as it is loaded",
        "lua/packet_load.lua",
        "math.max(keep_until_ms, now_ms() + 600000)",
        "keep_until_ms",
    ),
    Mutant(
        "a user gets a new number each time",
        "lua/packet_grab.lua",
        "if redis.call('HSETNX', packet_key, user_id, share_no) == 0 then",
        "if redis.call('HSET', packet_key, user_id, share_no) == 2 then",
    ),
    Mutant(
        "an expired packet hands out shares",
        "lua/lib/open.lua",
        "if left_ms <= 86400000 then",
        "if left_ms == 0 then",
    ),
    Mutant(
        "a packet hands out shares before its start",
        "lua/lib/open.lua",
        "elseif left_ms > tonumber(string.sub(state, 2, 9), 36) then",
        "elseif left_ms == 0 then",
    ),
    Mutant(
        "an owner who asks the script is refused like everybody",
        "lua/lib/open.lua",
        "if owned_no then",
        "if owned_no == '' then",
    ),
    Mutant(
        "a number is offered while processes remember that none is left",
        "lua/lib/open.lua",
        "offered_ms ~= '' and left_ms > tonumber(offered_ms)",
        "offered_ms == ' '",
    ),
    Mutant(
        "the last number does not empty the packet",
        "lua/packet_grab.lua",
        "share_no == count and",
        "share_no > count and",
    ),
    Mutant(
        "more numbers than shares are handed out",
        "lua/packet_grab.lua",
        "if share_no > count then",
        "if share_no > count + 1 then",
    ),
    Mutant(
        "a load takes back what was handed out since",
        "lua/packet_load.lua",
        "  packet.given_no = math.max(packet.given_no, durable_no)\n",
        "  packet.given_no = durable_no\n",
    ),
    Mutant(
        "a load opens a closed packet",
        "lua/lib/state.lua",
        "if letter ~= 'C' then",
        "if true then",
    ),
    Mutant(
        "a repeated correction corrects again",
        "lua/packet_amend.lua",
        "if redis.call('HGET', packet_key, user_id) ~= share_no then",
        "if redis.call('HGET', packet_key, user_id) == '' then",
    ),
    Mutant(
        "a key lives for ever",
        "lua/packet_load.lua",
        "redis.call('PEXPIREAT', packet_key, until_ms, 'NX')\n",
        "",
    ),
    Mutant(
        "a script starts although memory is full",
        "lua/packet_grab.lua",
        "#!lua\n",
        "#!lua flags=allow-oom\n",
    ),
    Mutant(
        "a broken connection looks like an error of ours",
        CACHE,
        "if isinstance(error, (NoConnection, NoAnswer)):\n",
        "if isinstance(error, (NoConnection, NoAnswer)):\n        raise error\n    if False:\n",
    ),
    Mutant(
        "a full cache looks like an error of ours",
        CACHE,
        'raise Unavailable("the cache refuses this key for now") from error',
        "raise error",
    ),
    Mutant(
        "an answer that comes late is taken for another one",
        CLIENT,
        "            connection.disconnect()",
        "            idle.append(connection)",
    ),
    Mutant(
        "a connection that broke leads to another one that broke",
        CLIENT,
        "        self._idle = []\n\n\nclass",
        "        pass\n\n\nclass",
    ),
    Mutant(
        "a slot that moves is looked for where it was",
        CLUSTER,
        "address, is_asking = (moved.host or address[0], moved.port), False",
        "is_asking = False",
    ),
    Mutant(
        "a slot that is on its way is asked for without saying so",
        CLUSTER,
        "(ask.host or address[0], ask.port), True",
        "(ask.host or address[0], ask.port), False",
    ),
    # What a process remembers of an open packet
    Mutant(
        "a packet counts as open for a minute",
        BOARD,
        "_SEEN_OPEN_S = 0.1",
        "_SEEN_OPEN_S = 60.0",
    ),
    Mutant(
        "a refusal is told without the marks of the state",
        BOARD,
        "            if outcome.share_no is not None:\n",
        "            if outcome:\n",
    ),
    Mutant(
        "the last share is not known for it",
        "lua/packet_grab.lua",
        " .. ' last'",
        "",
    ),
    Mutant(
        "the owner of a share of an emptied packet is not known for it",
        BOARD,
        "is_last=letter == _EMPTIED",
        "is_last=False",
    ),
    Mutant(
        "who took the last share with the rules met is not known for it",
        "lua/lib/open.lua",
        "return or_owned('packet_emptied', ' last')\nelseif",
        "return or_owned('packet_emptied')\nelseif",
    ),
    # Conditions of draws
    _overwritten("a draw may be written over", "put(self._draws, draw_row(draw)"),
    _overwritten("a unit is won twice", "put(self._draws, {**unit, **won_by(draw)}"),
    _overwritten(
        "a unit of a day's stock is won twice", "put(self._draws, {**day_unit, **won_by(draw)}"
    ),
    _recreated(
        "a share of a cash prize is won twice",
        DRAWS,
        "create(self._shares, items.share_row(share))",
        of="draws",
    ),
    _overwritten(
        "a user wins twice what is won once",
        'put(self._draws, {**winner, "draw_id": draw.draw_id}',
    ),
    _overwritten("a friend helps twice", "put(self._draws, given"),
    _of_draws("all days have one seed", DRAWS, 'f"day {campaign_id} {day}"', 'f"{campaign_id}"'),
    _of_draws(
        "attempts that miss are not limited",
        DRAWS,
        'MAY_DRAW = "attribute_not_exists(pk) OR attempt_count < :attempts_max"',
        'MAY_DRAW = "attribute_not_exists(nothing)"',
    ),
    _of_draws(
        "attempts that win are not limited",
        DRAWS,
        "attempt_count < :attempts_max AND win_count < :wins_max",
        "win_count < :wins_max",
    ),
    _of_draws("wins are not limited", DRAWS, " AND win_count < :wins_max", ""),
    _of_draws(
        "helps are not limited",
        DRAWS,
        " OR help_count < :helps_max",
        " OR help_count >= :zero",
    ),
    _of_draws("a help gives nothing", DRAWS, "minus_one=-1", "minus_one=0"),
    _of_draws(
        "an edit of a prize undoes another",
        DRAWS,
        'IS_AS_READ = "version = :read_version"',
        'IS_AS_READ = "version >= :read_version"',
    ),
    _of_draws(
        "an edit of a prize is done upon another one of it",
        DRAWS,
        "if _version(prizes.get(prize.prize_id)) != _version(before):",
        "if (before is None) != (prize.prize_id not in prizes):",
    ),
    _of_draws(
        "an edit of a prize leaves the table's version",
        DRAWS,
        '"SET prizes = :prizes ADD version :one"',
        '"SET prizes = :prizes"',
    ),
    _of_draws(
        "an edit of a campaign leaves the table's version",
        CAMPAIGNS,
        '"SET #plan = :plan ADD version :one"',
        '"SET #plan = :plan"',
    ),
    _of_draws(
        "an edit of a campaign is not in its table",
        CAMPAIGNS,
        "self._write([operation, shown])",
        "self._write([operation])",
    ),
    _of_draws(
        "a page keeps yesterday's commitment",
        RECALLED,
        "if note.day != day:",
        "if not note.day:",
    ),
    _of_draws(
        "a page is remembered over midnight",
        RECALLED,
        " and _is_today(known, now_ms)",
        "",
    ),
    _of_draws(
        "whoever has drawn is refused at the end",
        DRAW,
        "if status is not DrawStatus.CAMPAIGN_NOT_STARTED and (before := _find_draw(ask, desk)):",
        "if (before := None):",
    ),
    _of_draws(
        "an attempt that the ledger knows to be left is refused",
        DRAW,
        "if attempts_left(table.campaign.rules, player) != 0:",
        "if False:",
    ),
    _of_draws(
        "a repeat on another day uses up a unit",
        DRAW,
        "if _used_up(before) != _used_up(draw):",
        "if False:",
    ),
    _of_draws(
        "a draw goes by a table that was edited",
        DRAW,
        "if outcome.table_version >= table.version:",
        "if True:",
    ),
    _of_draws(
        "a draw goes by a table that nobody has read",
        DRAW,
        "if outcome.table_version > table.version:",
        "if False:",
    ),
    _of_draws(
        "a promised prize is forgotten with the cache",
        DRAW,
        "if decided_by is None or _is_owed_a_prize(ask, outcome, decided_by, desk):",
        "if decided_by is None:",
    ),
    _of_draws(
        "the cache is believed against its own odds",
        DRAW,
        "if choose(outcome.odds, ask.point) != outcome.prize_id:",
        "if False:",
    ),
    _of_draws(
        "a unit that nobody got is lost",
        DRAW,
        "is_unit_free=not is_lost",
        "is_unit_free=False",
    ),
    _of_draws(
        "a unit that is somebody's is offered again",
        DRAW,
        "is_unit_free=not is_lost",
        "is_unit_free=True",
    ),
    _of_draws("a win of cash is not queued", DRAW, "        _queue_payout(draw, desk)\n", ""),
    _of_draws(
        "everybody loads a lottery that the cache lost",
        DRAW,
        "if not desk.board.begin_load(campaign_id, _LOAD_LIFE_MS):",
        "if False:",
    ),
    _of_draws(
        "a day's seed is revealed on that day",
        DRAWN,
        "if clock.now_ms() < found.ends_at_ms + REVEAL_AFTER_MS:",
        "if clock.now_ms() < found.starts_at_ms:",
    ),
    _of_draws("users help themselves", HELP, "if inviter_id == helper_id:", "if False:"),
    _of_draws(
        "helpers need not say the phrase",
        HELP,
        "    _check_phrase(campaign, helper_id, said, desk)\n",
        "",
    ),
    _of_draws(
        "stock is lowered below what was won", PRIZE, "if total < stock.durable_no:", "if False:"
    ),
    _of_draws(
        "an edit changes what a prize is",
        PRIZE,
        "        _check_unchanged(plan, before)\n",
        "",
    ),
    _of_draws(
        "prizes of cash can be grabbed",
        GATE,
        "if rules is None or rules.prize_id:",
        "if rules is None:",
    ),
    # The scripts of draws
    _of_draws(
        "the cache lets users draw once too often",
        "lua/draw_prize.lua",
        "player.attempt_count >= rules.attempts_max",
        "player.attempt_count > rules.attempts_max",
    ),
    _of_draws(
        "the cache decides a repeat anew", "lua/draw_prize.lua", "if before then", "if false then"
    ),
    _of_draws(
        "a draw counts for a day that is over",
        "lua/draw_prize.lua",
        "now < day_starts_ms or now >= day_ends_ms",
        "now < day_starts_ms",
    ),
    _of_draws(
        "the cache hands out a unit too many",
        "lua/lib/prize.lua",
        "return count < prize.total",
        "return count <= prize.total",
    ),
    _of_draws(
        "the cache hands out a unit too many of a day",
        "lua/lib/prize.lua",
        "today.count < prize.per_day",
        "today.count <= prize.per_day",
    ),
    _of_draws(
        "the cache releases an hour's units too early",
        "lua/lib/prize.lua",
        "count < prize.per_hour * hour",
        "count < prize.per_hour * (hour + 1)",
    ),
    _of_draws(
        "a load takes back units that were handed out since",
        "lua/lib/stock.lua",
        "stock.issued_no = math.max(stock.issued_no, durable_no)",
        "stock.issued_no = durable_no",
    ),
    _of_draws(
        "an older table overwrites a newer one",
        "lua/draw_load.lua",
        "version >= known.version",
        "true",
    ),
    # Splits and proofs
    Mutant(
        "the seed is revealed while shares are free",
        PROOF,
        "if packet.status is not PacketStatus.CLOSED and not _is_emptied(packet, packets):",
        "if packet is None:",
    ),
    Mutant(
        "the last share alone reveals the seed",
        PROOF,
        "return sum(share.fate is Fate.CLAIMED for share in shares) == part_size(packet, part)",
        "return True",
    ),
    Mutant(
        "the sum of a bell is not repaired",
        PRESPLIT,
        "32) + 1 >> 1))\n    return _repaired(amounts, units)",
        "32) + 1 >> 1))\n    return amounts",
    ),
    Mutant("a split is not shuffled", PRESPLIT, "    _shuffle(amounts, words)\n", ""),
    # Switches and limits
    Mutant(
        "the sweep queues claims while payouts are off",
        REPAIR,
        "        may_go_on=may_go_on,\n",
        "",
    ),
    Mutant(
        "refunds that are switched off go on with the next chunk",
        EXPIRE,
        " or not is_allowed()",
        "",
    ),
    Mutant(
        "a switch is forgotten while its table is away",
        "shared/redpacket/flows/read_switches.py",
        "            if seen.is_known:\n                self._off = seen.off",
        "            self._off = seen.off",
    ),
    Mutant(
        "claims that arrive while payouts are off are forgotten",
        "shared/redpacket/flows/delay_claims.py",
        "    payouts.put(waiting, delay_s=_DELAY_S)\n",
        "",
    ),
    Mutant(
        "one more than the burst is let through",
        "lua/limit_take.lua",
        "if wait_ms > 0 then",
        "if wait_ms > interval_ms then",
    ),
    # Ids, loads and refusals (docs/adr/0015, 0016)
    Mutant(
        "any tag will do",
        IDS,
        "return hmac.compare_digest(tag, _tag(key, head + packet_id[TAGGED_LENGTH:]))",
        "return True",
    ),
    Mutant(
        "the tag does not cover the number of parts",
        IDS,
        "_tag(key, head + packet_id[TAGGED_LENGTH:])",
        "_tag(key, head)",
    ),
    Mutant(
        "earlier keys are refused",
        IDS,
        "key = self._keys.get(head[-1])",
        "key = self._keys[self._version] if head[-1] == self._version else None",
    ),
    Mutant(
        "a key that was not resolved signs",
        "shared/redpacket/edge/settings.py",
        'if "{{resolve" in keys:',
        "if False:",
    ),
    Mutant(
        "a message with a made-up id is settled",
        "shared/redpacket/edge/queue.py",
        " and packet_ids().has_signed(packet_id)",
        "",
    ),
    Mutant(
        "a preheat goes on after a made-up id",
        "shared/redpacket/edge/packet_ids.py",
        '    packet_ids().check(cursor.partition(".")[0])\n',
        "",
    ),
    Mutant(
        "everybody loads at once what the cache lost",
        LOAD,
        """    if not board.begin_load(packet_id, part, _LOAD_LIFE_MS):
        return False
    try:""",
        "    try:",
    ),
    Mutant(
        "what was loaded meanwhile is loaded again",
        LOAD,
        "if not board.is_loaded(packet_id, part):",
        "if True:",
    ),
    Mutant(
        "a turn to load is kept until it is over",
        LOAD,
        "    board.hold_load(packet_id, part, 0)\n    return True\n",
        "    return True\n",
    ),
    Mutant(
        "a load that failed is tried by the whole crowd, one after the other",
        LOAD,
        "    except Rejected:\n",
        "    except (Rejected, Unavailable):\n",
    ),
    Mutant(
        "a packet that is not there keeps others waiting",
        LOAD,
        "    except Rejected:\n        board.hold_load(packet_id, part, 0)\n",
        "    except Rejected:\n",
    ),
    Mutant(
        "a large load gets a small one's time",
        LOAD,
        "        board.hold_load(packet_id, part, _LARGE_LOAD_LIFE_MS)\n",
        "        pass\n",
    ),
    Mutant(
        "a user may load as often as they like",
        LOAD,
        "            before_read()\n",
        "",
    ),
    Mutant(
        "a user may make the ledger look for their share as often as they like",
        GRAB,
        "    desk.costs.count(taker.user_id)\n",
        "",
    ),
    Mutant(
        "a user may make the ledger count their claims as often as they like",
        "shared/redpacket/flows/campaign_quota.py",
        "            self.costs.count(self.user_id)\n",
        "",
    ),
    Mutant(
        "a cache that is away is waited for by each read",
        "shared/redpacket/flows/limit_rate.py",
        "            self._away_at_ms = now_ms\n",
        "",
    ),
    Mutant(
        "record pages are not counted",
        "shared/redpacket/edge/pages.py",
        "    guards.guard_read(request)\n    record =",
        "    record =",
    ),
    Mutant(
        "a cache of another life is believed",
        "lua/packet_certain.lua",
        "mark == '@' .. life()",
        "mark and string.sub(mark, 1, 1) == '@'",
    ),
    Mutant(
        "one process is one life, however often it is promoted",
        "lua/lib/life.lua",
        "redis.sha1hex(run_id .. replid)",
        "redis.sha1hex(run_id)",
    ),
    Mutant(
        "any load is taken for a send's",
        "lua/packet_load.lua",
        "if proof == 'sent' and not old and",
        "if not old and",
    ),
    Mutant(
        "a send's load vouches for a hash that was there before",
        "lua/packet_load.lua",
        "proof == 'sent' and not old and",
        "proof == 'sent' and",
    ),
    Mutant(
        "what was told in two lives is believed",
        "lua/packet_load.lua",
        "(told_life == '-' or told_life == now_life)",
        "(told_life or now_life)",
    ),
    Mutant(
        "what was lost while it was told is believed",
        "lua/packet_load.lua",
        "field_count > tonumber(user_count)",
        "tonumber(user_count)",
    ),
    Mutant(
        "a packet is told although shares have no fate",
        BOARD,
        'proof = _TOLD if len(shares) == count else ""',
        "proof = _TOLD",
    ),
    Mutant(
        "a hash that missed a claim vouches for all takers",
        "lua/packet_amend.lua",
        "    packet.head = string.gsub(packet.head, '@.*$', '')\n",
        "",
    ),
    Mutant(
        "any cache is believed to know all takers",
        GRAB,
        "    if desk.board.knows_takers(packet_id, taker.user_id):\n",
        "    if True:\n",
    ),
    Mutant(
        "any part vouches for a user",
        PARTS,
        "            board_id = part_id(packet_id, part_of_user(packet_id, user_id))\n"
        "        return self._board.knows_takers",
        "            board_id = part_id(packet_id, 0)\n        return self._board.knows_takers",
    ),
    Mutant(
        "everybody loads at once what was behind",
        LOAD,
        "        if board.begin_load(packet_id, part, _LOAD_LIFE_MS):\n",
        "        if True:\n",
    ),
    Mutant(
        "a collision relies on a loader that may have died",
        LOAD,
        "    for wait_ms in (*WAITS_MS, 0):",
        "    for wait_ms in (0,):",
    ),
]


def hunt(mutant: Mutant, say: Callable[[str], None]) -> bool:
    """Tell whether *mutant* is noticed."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(
            ROOT,
            copy,
            symlinks=True,
            ignore=shutil.ignore_patterns(*_LEFT_OUT, *_TESTS_OF_TEXTS),
            dirs_exist_ok=True,
        )
        target = copy / mutant.file
        text = target.read_text()
        assert text.count(mutant.old) >= 1, f"{mutant.name}: its text is not in {mutant.file}"
        target.write_text(text.replace(mutant.old, mutant.new))
        for way, command in _ways(mutant.of):
            if not _passes(command, copy):
                say(f"caught by {way}: {mutant.name}")
                return True
    say(f"SURVIVED: {mutant.name}")
    return False


def _ways(of: str) -> list[tuple[str, list[str]]]:
    simulated = ["-m", "tests.faults.simulation", "--schedules", str(SCHEDULES[of]), "--of", of]
    tested = ["-m", "pytest", "-x", "-q", "tests/unit", "tests/contract"]
    tested += ["-k", "not emulator and not moto and not warm_path", "-m", "not deployed"]
    return [("the simulation", simulated), ("a test", tested)]


def _passes(command: list[str], folder: Path) -> bool:
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'shared'}:{folder}"}
    try:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> int:
    """Hunt all mutants; print the figures as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", metavar="NAME")
    parser.add_argument("--of", choices=SCHEDULES)
    arguments = parser.parse_args()
    chosen = [
        mutant
        for mutant in MUTANTS
        if arguments.only in mutant.name and arguments.of in {None, mutant.of}
    ]
    began_at = time.monotonic()
    for of in {mutant.of for mutant in chosen}:
        control = Mutant("nothing is changed", LEDGER, "HOLDS_ENOUGH", "HOLDS_ENOUGH", of)
        if hunt(control, print):
            print("an unchanged tree fails: this run proves nothing")
            return 1
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        caught = list(pool.map(lambda mutant: hunt(mutant, print), chosen))
    seconds = round(time.monotonic() - began_at)
    print(json.dumps({"mutants": len(chosen), "caught": sum(caught), "seconds": seconds}))
    return 0 if all(caught) else 1


if __name__ == "__main__":
    raise SystemExit(main())
