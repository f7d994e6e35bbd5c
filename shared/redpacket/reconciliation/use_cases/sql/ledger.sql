-- check_conservation I1
SELECT 'all accounts' AS subject, 'wallets + packets vs deposits' AS what, 0 AS expected, SUM(fen) AS actual FROM (
  SELECT amount_fen AS fen FROM entry WHERE at_ms < :until_ms
  UNION ALL SELECT total_fen FROM packet WHERE funded_at_ms < :until_ms
  UNION ALL SELECT -amount_fen FROM share WHERE moved_at_ms < :until_ms
  UNION ALL SELECT -amount_fen FROM asked_entry WHERE at_ms < :until_ms) x
HAVING COUNT(*) > 0

-- check_entries I1
SELECT account AS subject, 'balance vs entries' AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT account, amount_fen AS wanted, 0 AS found FROM entry
  UNION ALL SELECT account, 0, balance_fen FROM balance) x
GROUP BY account
UNION ALL
SELECT transfer_id, 'entries of a transfer', 0, SUM(amount_fen) FROM entry
WHERE at_ms < :until_ms AND counterparty NOT LIKE 'packet:%' AND counterparty NOT LIKE 'payment:%' AND counterparty NOT LIKE 'withdrawal:%'
GROUP BY transfer_id

-- check_causes I1
SELECT account AS subject, 'entry ' || kind || ' ' || transfer_id || ' with ' || counterparty || ' at ' || CAST(at_ms AS varchar) AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT account, kind, transfer_id, payer AS counterparty, at_ms, amount_fen AS wanted, 0 AS found FROM moved
  UNION ALL SELECT payer, kind, transfer_id, account, at_ms, -amount_fen, 0 FROM moved
  UNION ALL SELECT account, kind, transfer_id, counterparty, at_ms, 0, amount_fen FROM entry
  WHERE counterparty NOT LIKE 'packet:%' AND counterparty NOT LIKE 'payment:%' AND counterparty NOT LIKE 'withdrawal:%' -- others: check_postings, check_outside_postings
    AND NOT (kind = 'payment_refunded' AND amount_fen < 0 AND counterparty = 'receivable:' || substr(account, 6)) -- a debt has no row; its user pays it
    AND NOT (kind = 'payment_refunded' AND amount_fen > 0 AND account = 'receivable:' || substr(counterparty, 6))) x
WHERE at_ms < :until_ms GROUP BY account, kind, transfer_id, counterparty, at_ms
UNION ALL
SELECT 'operators', 'moved without approval on ' || day, CASE WHEN SUM(amount_fen) > :alone_fen THEN :alone_fen ELSE SUM(amount_fen) END, SUM(amount_fen) FROM (
  SELECT CAST(at_ms - at_ms % 86400000 AS varchar) AS day, amount_fen FROM moved WHERE is_approved IS NULL AND at_ms < :until_ms AND at_ms > :now_ms - 259200000) d
GROUP BY day

-- check_marks I1
SELECT account AS subject, 'marks of campaign money' AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT account, CASE WHEN unmarked_at_ms IS NULL THEN 1 ELSE 0 END AS wanted, 0 AS found, COALESCE(unmarked_at_ms, marked_at_ms) AS at_ms FROM mark WHERE marked_at_ms IS NOT NULL
  UNION ALL SELECT account, 0, 1, 0 FROM balance WHERE is_for_campaigns IS NOT NULL) x
GROUP BY account HAVING MAX(at_ms) < :until_ms
UNION ALL
SELECT e.account, 'campaign money for ' || e.transfer_id, 0, e.amount_fen FROM entry e JOIN mark m ON m.account = e.account
LEFT JOIN packet p ON p.packet_id = substr(e.counterparty, 8)
WHERE m.marked_at_ms IS NOT NULL AND e.at_ms < COALESCE(m.unmarked_at_ms - :clocks_ms, e.at_ms + 1)
  AND (e.kind = 'withdrawal' OR e.kind = 'send' AND p.packet_id IS NOT NULL AND p.campaign_id IS NULL)

-- check_once I-once
SELECT account || ' ' || transfer_id AS subject, 'entries' AS what, 1 AS expected, COUNT(*) AS actual FROM entry
WHERE counterparty NOT LIKE 'packet:%' AND counterparty NOT LIKE 'payment:%' AND counterparty NOT LIKE 'withdrawal:%' -- others: check_postings, check_outside_postings
GROUP BY account, transfer_id

-- check_year_sums I1
SELECT account AS subject, what || '_' || CAST(year AS varchar) || ' vs entries' AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT account, 'sent_fen' AS what, year_of(position_ms) AS year, -amount_fen AS wanted, 0 AS found, at_ms FROM entry WHERE kind = 'send'
  UNION ALL SELECT account, 'sent_count', year_of(position_ms), 1, 0, at_ms FROM entry WHERE kind = 'send'
  UNION ALL SELECT account, 'received_fen', year_of(position_ms), amount_fen, 0, at_ms FROM entry WHERE kind = 'settle'
  UNION ALL SELECT account, 'received_count', year_of(position_ms), 1, 0, at_ms FROM entry WHERE kind = 'settle'
  UNION ALL SELECT 'user:' || luckiest_user_id, 'luckiest_count', year_of(luckiest_at_ms), 1, 0, closed_at_ms FROM packet WHERE kind = 'lucky' AND luckiest_user_id IS NOT NULL
  UNION ALL SELECT account, 'sent_fen', :year, 0, sent_fen_:year, 0 FROM balance WHERE sent_fen_:year <> 0
  UNION ALL SELECT account, 'sent_count', :year, 0, sent_count_:year, 0 FROM balance WHERE sent_count_:year <> 0
  UNION ALL SELECT account, 'received_fen', :year, 0, received_fen_:year, 0 FROM balance WHERE received_fen_:year <> 0
  UNION ALL SELECT account, 'received_count', :year, 0, received_count_:year, 0 FROM balance WHERE received_count_:year <> 0
  UNION ALL SELECT account, 'luckiest_count', :year, 0, luckiest_count_:year, 0 FROM balance WHERE luckiest_count_:year <> 0
) x
WHERE year IS NOT NULL GROUP BY account, what, year HAVING MAX(at_ms) < :until_ms

-- check_bounds I7
SELECT account AS subject, 'balance at least' AS what,
  CASE WHEN account = 'deposits' OR account LIKE 'receivable:%' AND balance_fen <= 0 OR account NOT LIKE 'receivable:%' AND balance_fen >= 0 THEN balance_fen ELSE 0 END AS expected, balance_fen AS actual FROM balance
UNION ALL
SELECT transfer_id, 'amount within 1..' || CAST(:fen_max AS varchar), CASE WHEN amount_fen BETWEEN 1 AND :fen_max THEN amount_fen ELSE 1 END, amount_fen FROM (
  SELECT transfer_id, ABS(amount_fen) AS amount_fen FROM entry
  UNION ALL SELECT name, amount_fen FROM receipt
  UNION ALL SELECT name, amount_fen FROM payment
  UNION ALL SELECT name, amount_fen FROM payment_return
  UNION ALL SELECT name, amount_fen FROM withdrawal
  UNION ALL SELECT name, amount_fen FROM booked) x

-- check_dates I3
SELECT name AS subject, 'written by now' AS what, CASE WHEN at_ms <= :now_ms + :late_ms THEN at_ms ELSE :now_ms END AS expected, at_ms AS actual FROM (
  SELECT name, at_ms FROM entry
  UNION ALL SELECT name, at_ms FROM receipt
  UNION ALL SELECT name, decided_at_ms FROM share
  UNION ALL SELECT name, settled_at_ms FROM share WHERE settled_at_ms IS NOT NULL
  UNION ALL SELECT name, claimed_at_ms FROM taker
  UNION ALL SELECT name, created_at_ms FROM packet
  UNION ALL SELECT name, COALESCE(closed_at_ms, funded_at_ms) FROM packet WHERE COALESCE(closed_at_ms, funded_at_ms) IS NOT NULL
  UNION ALL SELECT name, created_at_ms FROM member
  UNION ALL SELECT name, drawn_at_ms FROM draw
  UNION ALL SELECT name, COALESCE(credited_at_ms, created_at_ms) FROM payment
  UNION ALL SELECT name, COALESCE(done_at_ms, noted_at_ms) FROM payment_return
  UNION ALL SELECT name, noted_at_ms FROM payment_refund
  UNION ALL SELECT name, COALESCE(ended_at_ms, created_at_ms) FROM withdrawal
  UNION ALL SELECT name, noted_at_ms FROM booked) x
UNION ALL
SELECT name, 'time of its key', keyed_ms, place_ms FROM entry

-- check_readable I3
SELECT name AS subject, 'row that can be read' AS what, 'yes' AS expected, CASE WHEN text IS NULL OR number IS NULL THEN 'no' ELSE 'yes' END AS actual FROM (
  SELECT name, transfer_id || CASE WHEN kind IN (:transfer_kinds) THEN kind END || counterparty AS text, amount_fen + at_ms AS number FROM entry
  UNION ALL SELECT name, account, CAST(share_no AS decimal(19, 0)) + amount_fen + at_ms FROM receipt
  UNION ALL SELECT name, packet_id || sender_id || CASE WHEN kind IN (:packet_kinds) AND status IN (:packet_statuses) THEN status END, CAST(total_fen AS decimal(19, 0)) + share_count + stored_fen + created_at_ms + expires_at_ms FROM packet
  UNION ALL SELECT name, packet_id || CASE WHEN fate IN (:share_statuses) THEN fate END, CAST(share_no AS decimal(19, 0)) + amount_fen + decided_at_ms FROM share
  UNION ALL SELECT name, packet_id, CAST(share_no AS decimal(19, 0)) + amount_fen + claimed_at_ms FROM taker
  UNION ALL SELECT name, user_id, claim_count FROM claim_count
  UNION ALL SELECT name, packet_id, total_fen + created_at_ms FROM member
  UNION ALL SELECT name, draw_id || day, draw_no + drawn_at_ms + point FROM draw
  UNION ALL SELECT name, user_id || draw_id, unit_no FROM unit
  UNION ALL SELECT name, day, attempt_count + win_count FROM player
  UNION ALL SELECT name, number || user_id || CASE WHEN status IN (:payment_statuses) THEN status END, amount_fen + created_at_ms + expires_at_ms FROM payment
  UNION ALL SELECT name, number || CASE WHEN reason IN (:return_reasons) AND status IN (:return_statuses) THEN status END, amount_fen + noted_at_ms FROM payment_return
  UNION ALL SELECT name, number || user_id, wallet_fen + owed_fen + noted_at_ms FROM payment_refund
  UNION ALL SELECT name, withdrawal_id || user_id || day || CASE WHEN status IN (:withdrawal_statuses) THEN status END, amount_fen + created_at_ms + attempt_no FROM withdrawal
  UNION ALL SELECT name, day, withdrawn_count + withdrawn_fen FROM withdrawn
  UNION ALL SELECT name, kind, amount_fen + noted_at_ms FROM booked) x

-- check_kept I3
kept(accounts: transfer_id kind amount_fen counterparty account at_ms placed_at_ms commitment)
UNION ALL kept(packets: sender_id kind terms total_fen payment_id campaign_id prize_id created_at_ms paid_at_ms closed_at_ms)
UNION ALL kept(shares: fate user_id share_no amount_fen decided_at_ms claimed_at_ms settled_at_ms)
UNION ALL kept(campaigns: commitment total_fen created_at_ms set_at_ms)
UNION ALL kept(draws: draw_id user_id point odds prize unit_no day_no drawn_at_ms helped_at_ms)
UNION ALL kept(commitments: commitment at_ms log_index)
UNION ALL kept(journal: subject changes at_ms is_cause)
UNION ALL kept(payments: number user_id amount_fen transaction_id bill_kind of_number return_reason wallet_fen owed_fen withdrawal_id limit_day created_at_ms credited_at_ms closed_at_ms noted_at_ms moved_at_ms done_at_ms ended_at_ms) WHERE b.pk LIKE 'payment#%' OR b.pk LIKE 'withdrawal#%' OR b.pk LIKE 'outside#%'
