-- winners
SELECT campaign_id, prize_id, prize_kind, amount_fen, unit_no, user_id, draw_id, day, drawn_at_ms FROM draw
WHERE prize_id IS NOT NULL ORDER BY campaign_id, prize_id, unit_no

-- spend
SELECT day, campaign_id, SUM(packets) AS packet_count, SUM(sent_fen) AS sent_fen, SUM(claims) AS claim_count, SUM(claimed_fen) AS claimed_fen, SUM(refunded_fen) AS refunded_fen FROM (
  SELECT day_of(funded_at_ms) AS day, COALESCE(campaign_id, '') AS campaign_id, 1 AS packets, total_fen AS sent_fen, 0 AS claims, 0 AS claimed_fen, 0 AS refunded_fen
  FROM packet WHERE funded_at_ms IS NOT NULL
  UNION ALL
  SELECT day_of(s.decided_at_ms), COALESCE(p.campaign_id, ''), 0, 0, CASE WHEN s.fate = 'claimed' THEN 1 ELSE 0 END,
    CASE WHEN s.fate = 'claimed' THEN s.amount_fen ELSE 0 END, CASE WHEN s.fate = 'refunded' THEN s.amount_fen ELSE 0 END
  FROM share s LEFT JOIN packet p ON p.packet_id = s.packet_id) x
GROUP BY day, campaign_id ORDER BY day DESC, campaign_id

-- dormant
SELECT b.account, b.balance_fen, day_of(e.at_ms) AS last_entry_day FROM balance b
LEFT JOIN (SELECT account, MAX(at_ms) AS at_ms FROM entry GROUP BY account) e ON e.account = b.account
WHERE b.balance_fen > 0 AND COALESCE(e.at_ms, 0) < :now_ms - :dormant_ms ORDER BY b.balance_fen DESC, b.account

-- refunds
SELECT day_of(closed_at_ms) AS day, COALESCE(campaign_id, '') AS campaign_id, COUNT(*) AS packet_count, SUM(total_fen) AS total_fen, SUM(refunded_fen) AS refunded_fen,
  ROUND(100 * CAST(SUM(refunded_fen) AS double) * POWER(CAST(SUM(total_fen) AS double), -1), 2) AS refunded_percent
FROM packet WHERE status = 'closed' GROUP BY day_of(closed_at_ms), COALESCE(campaign_id, '') ORDER BY day DESC, campaign_id

-- waiting
SELECT kind, COUNT(*) AS row_count, SUM(amount_fen) AS amount_fen, day_of(MIN(since_ms)) AS oldest_day, CAST(FLOOR(CAST(:now_ms - MIN(since_ms) AS double) * 0.001) AS bigint) AS oldest_age_s FROM (
  SELECT 'claim to settle' AS kind, amount_fen, decided_at_ms AS since_ms FROM share WHERE fate = 'claimed' AND settled_at_ms IS NULL
  UNION ALL SELECT 'packet to close', total_fen, expires_at_ms FROM packet WHERE status NOT IN ('closed', 'cancelled', 'unpaid') AND expires_at_ms < :now_ms
  UNION ALL SELECT 'packet to pay for', total_fen, created_at_ms FROM packet WHERE status = 'unpaid'
  UNION ALL SELECT 'payment', amount_fen, created_at_ms FROM payment WHERE status = 'pending'
  UNION ALL SELECT 'payment to return', amount_fen - refunded_fen, noted_at_ms FROM payment_return WHERE status IN (:open_returns)
  UNION ALL SELECT 'withdrawal', amount_fen, created_at_ms FROM withdrawal WHERE status NOT IN (:ended_withdrawals)) x
GROUP BY kind ORDER BY kind
