"""Who gets a share: fates, rules of packets, and the order of the flows."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    Mutant,
    recreated,
)

MUTANTS = [
    # Conditions of the share fates
    recreated(
        "a share's fate may be overwritten by a claim",
        "DynamoClaims.record_claim",
        "create(self._shares, items.share_row(share))",
    ),
    recreated(
        "a user may take a second share",
        "DynamoClaims.record_claim",
        "create(self._shares, items.taker_row(share, user_id))",
    ),
    recreated(
        "a share's fate may be overwritten by a refund",
        "DynamoLedger.refund",
        "create(self._shares, items.share_row(share))",
    ),
    Mutant(
        "whatever is created may be there",
        "create",
        'return _set(table, row, "attribute_not_exists(pk)")',
        'return _set(table, row, "attribute_not_exists(nothing)")',
    ),
    Mutant(
        "a user may take more than the quota",
        "IS_WITHIN_QUOTA",
        " OR claim_count < :count_max",
        " OR claim_count >= :one",
    ),
    # Who may take part
    Mutant(
        "who is not on a campaign's list gets a share that the cache names",
        "DynamoClaims.record_claim",
        "if quota and quota.audience_mode:",
        "if False:",
    ),
    Mutant(
        "a list of those who may takes those who were removed, too",
        "audiences:IS_MEMBER",
        "is_member = :yes",
        "attribute_exists(pk) OR is_member = :yes",
    ),
    Mutant(
        "a list of those who may not forgets whom it names",
        "audiences:IS_NO_MEMBER",
        "attribute_not_exists(pk) OR is_member = :no",
        "attribute_not_exists(pk) OR is_member = :no OR attribute_exists(pk)",
    ),
    Mutant(
        "a list is longer than a million",
        "audiences:IS_SHORT_ENOUGH",
        "member_count <= :most",
        "member_count >= :most",
    ),
    Mutant(
        "a token's claims are not asked for a share",
        "campaign_quota:CampaignQuota._find_known_refusal",
        "if not meets(campaign.required_claims, self._taker.claims):",
        "if False:",
    ),
    Mutant(
        "a token's claims are not asked for a draw",
        "refuse_draw:check_audience",
        " or not meets(campaign.required_claims, drawer.claims)",
        "",
    ),
    Mutant(
        "who is not on a campaign's list draws",
        "refuse_draw:check_audience",
        "mode is None or attempt.is_member is (mode is AudienceMode.ALLOW)",
        "True",
    ),
    Mutant(
        "who is not on a campaign's list is admitted to open",
        "grab_packet:grab_packet",
        "quota.find_refusal(rules) or _admit",
        "_admit",
    ),
    Mutant(
        "a load that an edit overtook is believed",
        "audience_load.lua",
        "if redis.call('GET', loading_key) ~= turn then",
        "if false then",
    ),
    Mutant(
        "who is denied gets a share",
        "verdicts:IS_NOT_DENIED",
        "denied_until_ms <= :now_ms",
        "denied_until_ms >= :now_ms",
    ),
    Mutant(
        "who is denied draws",
        "refuse_draw:check_audience",
        "is_denied or not is_in",
        "not is_in",
    ),
    Mutant(
        "the host's risk control is not asked about a share",
        "claim_share:claim_share",
        "if ports.risk and not ports.risk.allows(taker):",
        "if False:",
    ),
    Mutant(
        "the host's risk control is not asked about a prize",
        "judge_answer",
        "if outcome.prize_id and ports.risk and not ports.risk.allows(tried.drawer):",
        "if False:",
    ),
    # Rules of packets
    Mutant(
        "a claim is not counted against the quota",
        "claim_share",
        "quota.find() if answer.is_gated else None",
        "None",
    ),
    Mutant(
        "a number over the quota stays taken",
        "claim_share:_corrected",
        "        ports.claim_cache.release(share.packet_id, taker.user_id, share.share_no)\n",
        "",
    ),
    Mutant(
        "anybody opens a packet in two steps",
        "open_packet:open_packet",
        "check_grab_token(grab_token, terms.seed, ",
        "(lambda *_: None)(grab_token, terms.seed, ",
    ),
    Mutant(
        "the uninvited get a share",
        "grab_packet:grab_packet",
        "                _check_invited(rules, user_id)\n",
        "",
    ),
    Mutant(
        "the passphrase is not checked",
        "grab_packet:grab_packet",
        "                _check_passphrase(rules, said, packet_id, user_id, terms.count, ports)\n",
        "",
    ),
    Mutant(
        "tries at a passphrase are not limited",
        "limit_guesses",
        "    if retry_after_ms:\n        raise _wait(",
        "    if retry_after_ms < 0:\n        raise _wait(",
    ),
    Mutant(
        "a packet in two steps is taken in one",
        "grab_packet:grab_packet",
        "rules.opening is Opening.TWO_STEP",
        "False",
    ),
    Mutant(
        "one more is admitted than there are places",
        "packet_admit.lua",
        ">= admitted_max",
        "> admitted_max",
    ),
    Mutant(
        "a packet with rules hands out shares like a plain one",
        "RedisClaims.grab",
        "        if is_gated:\n",
        "        if False:\n",
    ),
    # Order and rules of the flows
    Mutant(
        "the amount is told before it is durable",
        "claim_share",
        "    recorded = ports.claims.record_claim(share, counted)\n",
        "    try:\n        recorded = ports.claims.record_claim(share, counted)\n"
        "    except Unavailable:\n        return Claim(share, is_new=True)\n",
    ),
    Mutant(
        "a repeat is believed without a look at the ledger",
        "claim_share",
        "        owned = _owned(packet_id, taker, ports)\n        if owned and",
        "        owned = _named_share(packet_id, taker, answer, ports)\n        if",
    ),
    Mutant(
        "a number that is somebody else's is not burnt",
        "claim_share:_corrected",
        "        ports.claim_cache.revoke(share.packet_id, taker.user_id, share.share_no)\n",
        "",
    ),
    Mutant(
        "a number that is given back is lost",
        "claim_share:_corrected",
        "        ports.claim_cache.reassign(",
        "        (lambda *_, **__: None)(",
    ),
    Mutant(
        "a claim in flight is paid after its refund",
        "claim_share:_corrected",
        "RecordStatus.SHARE_REFUNDED",
        "None",
    ),
    Mutant(
        "a claim is not queued",
        "claim_share",
        "        ports.payouts.put([share.ref])\n",
        "        pass\n",
    ),
    Mutant(
        "a batch that names a claim twice is not deduplicated",
        "settle_claims:settle_claims",
        "waiting = list(dict.fromkeys(refs))",
        "waiting = list(refs)",
    ),
    Mutant(
        "an amount that differs from the terms is paid",
        "_checked",
        "share.amount_fen != share_amount_fen(terms, share_no)",
        "False",
    ),
    Mutant(
        "one changed claim keeps the others of its batch from being paid",
        "_pay",
        "        left = [one for one in left if one[0].ref not in in_the_way]\n",
        "        return unpaid | {share.ref for share, _ in left}\n",
    ),
    Mutant(
        "a claim that could not be paid counts as paid",
        "settle_claims:settle_claims",
        "failed |= refused | _still_unsettled(unpaid, packets)",
        "failed |= refused",
    ),
    Mutant(
        "a claim that is paid meanwhile counts as failed",
        "_still_unsettled",
        "if share.settled_at_ms is None}",
        "if share}",
    ),
    Mutant(
        "a packet whose end was moved is refunded all the same",
        "expire_packets",
        "for packet in closing.results if packet.status is PacketStatus.CLOSING]",
        "for packet in closing.results if packet.status is not PacketStatus.CLOSED]",
    ),
    Mutant(
        "the cache is not closed", "_begin_close", "  ports.cache.close(packet_id)\n", "  pass\n"
    ),
    Mutant(
        "there is no grace",
        "expire_packets",
        "        clock.sleep_ms(grace_ms)\n",
        "        pass\n",
    ),
    Mutant(
        "a cancelled refund is counted as done",
        "Closing._refund",
        "if not self._ports.ledger.refund([(chunk, transfer)], now_ms):",
        "if self._ports.ledger.refund([(chunk, transfer)], now_ms) is None:",
    ),
    Mutant(
        "a cancelled refund of several packets is counted as done",
        "refund_together",
        "if refunds and not ports.ledger.refund(refunds, now_ms):",
        "if refunds and ports.ledger.refund(refunds, now_ms) is None:",
    ),
    Mutant(
        "one bad packet keeps those that are refunded with it from their refund",
        "refund_together",
        "except Exception:  # noqa: BLE001 - one bad packet must not keep",
        "except MemoryError:  #",
    ),
    Mutant(
        "more is refunded together than a transaction takes",
        "batches",
        "used + needed > OPERATIONS_PER_TRANSACTION",
        "used + needed > 2 * OPERATIONS_PER_TRANSACTION",
    ),
    Mutant(
        "packets in parts are refunded like those in one",
        "batches",
        "        if is_cut(packet.packet_id):\n            needed",
        "        if False:\n            needed",
    ),
    Mutant(
        "refunds of one sender meet on their balance",
        "_lanes",
        "lanes[packet.sender.user_id].append(packet)",
        "lanes[packet.packet_id].append(packet)",
    ),
    Mutant(
        "who asks while the switches are read goes on",
        "expire_packets.is_allowed",
        "        with turn:\n            return may_go_on()\n",
        "        return may_go_on()\n",
    ),
    Mutant(
        "two threads ask the cache at a time",
        "CircuitBreaker._try",
        "        with self._turn:\n",
        "        if True:\n",
    ),
    Mutant(
        "one unreadable packet keeps all of its read from their refund",
        "_read.read",
        "except Exception:  # noqa: BLE001 - one bad row must not keep",
        "except MemoryError:  #",
    ),
    Mutant(
        "a part that was cut off is taken for done",
        "Closing.go_on",
        "if progress is not Progress.DONE:",
        "if progress is Progress.WAITS:",
    ),
    Mutant(
        "owners that the cache forgot stay forgotten after the close",
        "Closing._tell",
        "                ports.cache.load(packet, shares, part)\n",
        "                pass\n",
    ),
    Mutant(
        "claims that were cut off are not queued again",
        "_requeue",
        "            payouts.put([ref])\n",
        "",
    ),
    Mutant(
        "packets whose load was cut off wait for ever",
        "load_packets.load",
        "        packets.mark_loaded(packet)\n",
        "        pass\n",
    ),
    Mutant(
        "a refund waits for the cache",
        "_begin_close",
        "    except Unavailable as error:\n",
        "    except InvariantViolated as error:\n",
    ),
    Mutant(
        "a repeat is refused because limits were lowered since",
        "send_packet:send_packet",
        "if first_id := funding.find_sent(order.request):",
        'if first_id := "":',
    ),
    Mutant(
        "a cache that refuses one packet is taken for one that is away",
        "CircuitBreaker._try",
        "            except CacheAway:\n",
        "            except Exception:\n",
    ),
    Mutant(
        "a cache that is away is waited for with every packet",
        "CircuitBreaker._try",
        "                self._is_away = True\n",
        "                pass\n",
    ),
    # What a process remembers of an open packet
    Mutant(
        "a packet counts as open for a minute",
        "_SEEN_OPEN_S",
        "_SEEN_OPEN_S = 0.1",
        "_SEEN_OPEN_S = 60.0",
    ),
    Mutant(
        "a refusal is told without the marks of the state",
        "RedisClaims.grab",
        "            if outcome.share_no is not None:\n",
        "            if outcome:\n",
    ),
    Mutant(
        "the last share is not known for it",
        "packet_grab.lua",
        " .. ' last'",
        "",
    ),
    Mutant(
        "the owner of a share of an emptied packet is not known for it",
        "RedisClaims.grab",
        "is_last=letter == _EMPTIED",
        "is_last=False",
    ),
    Mutant(
        "who took the last share with the rules met is not known for it",
        "open.lua",
        "'packet_emptied', ' last'",
        "'packet_emptied'",
    ),
]
