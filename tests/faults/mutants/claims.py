"""Who gets a share: fates, rules of packets, and the order of the flows."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    BOARD,
    DYNAMO,
    EXPIRE,
    GATE,
    GRAB,
    IMPATIENT,
    LEDGER,
    REFUND,
    REPAIR,
    SEND,
    SETTLE,
    SHARES,
    Mutant,
    recreated,
)

MUTANTS = [
    # Conditions of the share fates
    recreated(
        "a share's fate may be overwritten by a claim",
        SHARES,
        "create(self._shares, items.share_row(share))",
    ),
    recreated(
        "a user may take a second share",
        SHARES,
        "create(self._shares, items.taker_row(share, user_id))",
    ),
    recreated(
        "a share's fate may be overwritten by a refund",
        LEDGER,
        "create(self._shares, items.share_row(share))",
    ),
    Mutant(
        "whatever is created may be there",
        DYNAMO,
        'return _set(table, row, "attribute_not_exists(pk)")',
        'return _set(table, row, "attribute_not_exists(nothing)")',
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
        "        ports.claim_cache.release(share.packet_id, taker.user_id, share.share_no)\n",
        "",
    ),
    Mutant(
        "anybody opens a packet in two steps",
        "shared/redpacket/flows/packets/open_packet.py",
        "        check_grab_token(self.grab_token, terms.seed, ",
        "        (lambda *_: None)(self.grab_token, terms.seed, ",
    ),
    Mutant("the uninvited get a share", GATE, "        self._check_invited(rules)\n", ""),
    Mutant(
        "nobody has to say the passphrase",
        GATE,
        "        self._check_passphrase(rules, terms.count)\n",
        "",
    ),
    Mutant(
        "tries at a passphrase are not limited",
        "shared/redpacket/flows/guards/limit_rate.py",
        "    if retry_after_ms:\n        raise _wait(",
        "    if retry_after_ms < 0:\n        raise _wait(",
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
    # Order and rules of the flows
    Mutant(
        "the amount is told before it is durable",
        GRAB,
        "    recorded = ports.packets.record_claim(share, quota)\n",
        "    try:\n        recorded = ports.packets.record_claim(share, quota)\n"
        "    except Unavailable:\n        return Claim(share, is_new=True)\n",
    ),
    Mutant(
        "a repeat is believed without a look at the ledger",
        GRAB,
        "        owned = _owned(packet_id, taker, ports)\n        if owned and",
        "        owned = _claimed_share(packet_id, taker, outcome, ports)\n        if",
    ),
    Mutant(
        "a number that is somebody else's is not burnt",
        GRAB,
        "        ports.claim_cache.revoke(share.packet_id, taker.user_id, share.share_no)\n",
        "",
    ),
    Mutant(
        "a number that is given back is lost",
        GRAB,
        "        ports.claim_cache.reassign(",
        "        (lambda *_, **__: None)(",
    ),
    Mutant(
        "a claim in flight is paid after its refund", GRAB, "RecordStatus.SHARE_REFUNDED", "None"
    ),
    Mutant(
        "a claim is not queued",
        GRAB,
        "        ports.payouts.put([claim.share.ref])\n",
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
        "for packet in closing.results if packet.status is PacketStatus.CLOSING]",
        "for packet in closing.results if packet.status is not PacketStatus.CLOSED]",
    ),
    Mutant("the cache is not closed", EXPIRE, "  ports.cache.close(packet_id)\n", "  pass\n"),
    Mutant("there is no grace", EXPIRE, "        clock.sleep_ms(grace_ms)\n", "        pass\n"),
    Mutant(
        "a cancelled refund is counted as done",
        REFUND,
        "if not self._ports.ledger.refund([(chunk, transfer)], now_ms):",
        "if self._ports.ledger.refund([(chunk, transfer)], now_ms) is None:",
    ),
    Mutant(
        "a cancelled refund of several packets is counted as done",
        REFUND,
        "if refunds and not ports.ledger.refund(refunds, now_ms):",
        "if refunds and ports.ledger.refund(refunds, now_ms) is None:",
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
        "if progress is not Progress.DONE:",
        "if progress is Progress.WAITS:",
    ),
    Mutant(
        "owners that the cache forgot stay forgotten after the close",
        REFUND,
        "                ports.cache.load(packet, shares, part)\n",
        "                pass\n",
    ),
    Mutant(
        "claims that were cut off are not queued again",
        REPAIR,
        "            payouts.put([ref])\n",
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
]
