-- check_outside_postings I1
SELECT counterparty AS subject, 'entry ' || kind || ' ' || transfer_id || ' of ' || account || ' at ' || CAST(at_ms AS varchar) AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT account, kind, transfer_id, counterparty, at_ms, amount_fen AS wanted, 0 AS found FROM asked_entry
  UNION ALL SELECT account, kind, transfer_id, counterparty, at_ms, 0, amount_fen FROM entry WHERE counterparty LIKE 'payment:%' OR counterparty LIKE 'withdrawal:%') x
WHERE at_ms < :until_ms GROUP BY counterparty, kind, transfer_id, account, at_ms

-- check_payments I1
SELECT 'payment:' || number AS subject, what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT number, 'reversed vs refunds' AS what, wallet_fen + owed_fen AS wanted, 0 AS found, noted_at_ms AS at_ms FROM payment_refund
  UNION ALL SELECT number, 'returned vs transactions', returned_fen, 0, noted_at_ms FROM payment_refund
  UNION ALL SELECT number, 'returned vs transactions', CASE WHEN status = 'done' THEN amount_fen ELSE 0 END, 0, COALESCE(done_at_ms, noted_at_ms) FROM payment_return
  UNION ALL SELECT number, 'reversed vs refunds', 0, reversed_fen, 0 FROM payment
  UNION ALL SELECT number, 'returned vs transactions', 0, returned_fen, 0 FROM payment) x
GROUP BY number, what HAVING MAX(at_ms) < :until_ms
UNION ALL
SELECT 'payment:' || number, 'credited with a transaction', CASE WHEN transaction_id = '' THEN 0 ELSE 1 END, CASE WHEN credited_at_ms IS NULL THEN 0 ELSE 1 END FROM payment
UNION ALL
SELECT 'payment:' || number, 'paid with its time', CASE WHEN status = 'paid' THEN 1 ELSE 0 END, CASE WHEN credited_at_ms IS NULL THEN 0 ELSE 1 END FROM payment
UNION ALL
SELECT 'payment:' || number, 'given back with its time', CASE WHEN status = 'done' THEN 1 ELSE 0 END, CASE WHEN done_at_ms IS NULL THEN 0 ELSE 1 END FROM payment_return
UNION ALL
SELECT 'withdrawal:' || withdrawal_id, 'ended with its time', CASE WHEN status IN (:ended_withdrawals) THEN 1 ELSE 0 END, CASE WHEN ended_at_ms IS NULL THEN 0 ELSE 1 END FROM withdrawal
UNION ALL
SELECT 'payment:' || number, 'reversed at most', CASE WHEN reversed_fen <= CASE WHEN credited_at_ms IS NULL THEN 0 ELSE amount_fen END THEN reversed_fen ELSE amount_fen END, reversed_fen FROM payment
UNION ALL
SELECT 'payment:' || r.number, 'returned although credited', 0, COUNT(*) FROM payment_return r JOIN payment p ON p.transaction_id = r.transaction_id GROUP BY r.number

-- check_lines I6
SELECT account AS subject, 'line of ' || kind || ' ' || number || ' ' || outside_no AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT 'withdrawal:' || withdrawal_id AS account, 'transfer' AS kind, withdrawal_id || lpad(CAST(attempt_no AS varchar), 2, '0') AS number, outside_no, ended_at_ms AS at_ms, amount_fen AS wanted, 0 AS found
  FROM withdrawal WHERE status = 'paid'
  UNION ALL SELECT 'payment:' || number, 'payment', number, transaction_id, credited_at_ms, amount_fen, 0 FROM payment WHERE credited_at_ms IS NOT NULL
  UNION ALL SELECT 'payment:' || number, 'payment', number, transaction_id, noted_at_ms, amount_fen, 0 FROM payment_return WHERE reason <> 'mismatched'
  UNION ALL SELECT 'payment:' || number, 'refund', '', '', noted_at_ms, wallet_fen + owed_fen + returned_fen, 0 FROM payment_refund
  UNION ALL SELECT 'payment:' || number, 'refund', '', '', done_at_ms, amount_fen, 0 FROM payment_return WHERE done_at_ms IS NOT NULL
  UNION ALL
  SELECT CASE WHEN kind = 'transfer' THEN 'withdrawal:' || substr(number, 1, 30) WHEN kind = 'payment' THEN 'payment:' || number ELSE 'payment:' || of_number END, kind,
    CASE WHEN kind = 'refund' THEN '' ELSE number END, CASE WHEN kind = 'refund' THEN '' ELSE outside_no END, noted_at_ms, 0, amount_fen FROM booked) x
WHERE at_ms < :until_ms GROUP BY account, kind, number, outside_no, at_ms
UNION ALL
SELECT name, 'line among those of its day', 1, CASE WHEN part = kind || ' ' || day_of(moved_at_ms) AND TRY_CAST(shard AS bigint) BETWEEN 0 AND :shard_max THEN 1 ELSE 0 END FROM booked
UNION ALL
SELECT b.name, 'line of its provider', 1, CASE WHEN b.channel = COALESCE(p.channel, w.channel) THEN 1 ELSE 0 END FROM booked b
LEFT JOIN payment p ON b.kind <> 'transfer' AND p.number = CASE WHEN b.kind = 'payment' THEN b.number ELSE b.of_number END
LEFT JOIN withdrawal w ON b.kind = 'transfer' AND w.withdrawal_id = substr(b.number, 1, 30)
WHERE COALESCE(p.channel, w.channel) IS NOT NULL
UNION ALL
SELECT 'withdrawal:' || withdrawal_id, 'lines of money that returned', 0, COUNT(*) FROM withdrawal JOIN booked ON kind = 'transfer' AND substr(number, 1, 30) = withdrawal_id
WHERE status IN (:returned_withdrawals) AND ended_at_ms < :until_ms GROUP BY withdrawal_id

-- check_asked I6
SELECT 'withdrawal:' || withdrawal_id AS subject, 'returned on an answer' AS what, 1 AS expected,
  CASE WHEN returned_on IN ('failed', 'cancelled') OR returned_on = 'not_found' AND ended_at_ms <= created_at_ms + :horizon_ms THEN 1 ELSE 0 END AS actual
FROM withdrawal WHERE status IN ('failed', 'cancelled') AND returned_on IS NOT NULL

-- check_outside_in_time I8
SELECT subject, what, expected, actual FROM (
  SELECT 'payment:' || number AS subject, 'closed by' AS what, CASE WHEN status = 'pending' AND :now_ms > expires_at_ms + :late_outside_ms THEN expires_at_ms + :late_outside_ms ELSE :now_ms END AS expected, CAST(:now_ms AS decimal(18, 0)) AS actual FROM payment
  UNION ALL SELECT 'payment:' || number, 'in its work list', 1, CASE WHEN work_pk IS NOT NULL THEN 1 WHEN status = 'pending' OR status = 'closed' AND ordered_at_ms > 0 AND closed_at_ms IS NOT NULL AND :now_ms + :clocks_ms < closed_at_ms + :watched_ms THEN 0 ELSE 1 END FROM payment
  UNION ALL SELECT 'payment:' || number, 'given back by', CASE WHEN status = 'due' AND :now_ms > noted_at_ms + :late_outside_ms THEN noted_at_ms + :late_outside_ms ELSE :now_ms END, :now_ms FROM payment_return
  UNION ALL SELECT 'payment:' || number, 'in its work list', 1, CASE WHEN listed_pk IS NULL AND status IN (:open_returns) THEN 0 ELSE 1 END FROM payment_return
  UNION ALL SELECT 'withdrawal:' || withdrawal_id, 'in its work list', 1, CASE WHEN work_pk IS NULL AND status NOT IN (:ended_withdrawals) THEN 0 ELSE 1 END FROM withdrawal) x

-- check_late_end I8
SELECT 'withdrawal:' || withdrawal_id AS subject, 'ended by' AS what,
  CASE WHEN status NOT IN (:ended_withdrawals) AND :now_ms > created_at_ms + 2 * :late_outside_ms THEN created_at_ms + 2 * :late_outside_ms ELSE :now_ms END AS expected, :now_ms AS actual FROM withdrawal

-- check_withdrawn I9
SELECT user_id || ' ' || day AS subject, what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT user_id, day, 'withdrawals counted' AS what, CASE WHEN status IN (:returned_withdrawals) THEN 0 ELSE 1 END AS wanted, 0 AS found, COALESCE(ended_at_ms, created_at_ms) AS at_ms FROM withdrawal
  UNION ALL SELECT user_id, day, 'withdrawn of the day', CASE WHEN status IN (:returned_withdrawals) THEN 0 ELSE amount_fen END, 0, COALESCE(ended_at_ms, created_at_ms) FROM withdrawal
  UNION ALL SELECT user_id, day, 'withdrawals counted', 0, withdrawn_count, 0 FROM withdrawn
  UNION ALL SELECT user_id, day, 'withdrawn of the day', 0, withdrawn_fen, 0 FROM withdrawn) x
WHERE day >= ':first_day' GROUP BY user_id, day, what HAVING MAX(at_ms) < :until_ms
