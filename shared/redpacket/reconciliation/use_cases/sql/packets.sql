-- check_postings I1
SELECT subject, what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT packet_id AS subject, 'entry send send:' || packet_id || ' of user:' || sender_id || ' at ' || CAST(funded_at_ms AS varchar) AS what, -total_fen AS wanted, 0 AS found
  FROM packet WHERE funded_at_ms < :until_ms
  UNION ALL
  SELECT packet_id, 'entry settle settle:' || packet_id || ':' || CAST(share_no AS varchar) || ' of user:' || user_id || ' at ' || CAST(settled_at_ms AS varchar) || ' placed ' || CAST(decided_at_ms AS varchar), amount_fen, 0
  FROM share WHERE fate = 'claimed' AND settled_at_ms < :until_ms
  UNION ALL
  SELECT s.packet_id, 'entry refund refund:' || s.packet_id || ':' || CAST(s.refund_no AS varchar) || ' of user:' || COALESCE(p.sender_id, '') || ' at ' || CAST(s.decided_at_ms AS varchar), s.amount_fen, 0
  FROM share s LEFT JOIN packet p ON p.packet_id = s.packet_id WHERE s.fate = 'refunded' AND s.decided_at_ms < :until_ms
  UNION ALL
  SELECT substr(counterparty, 8), 'entry ' || kind || ' ' || transfer_id || ' of ' || account || ' at ' || CAST(at_ms AS varchar) || CASE WHEN placed_at_ms > 0 THEN ' placed ' || CAST(placed_at_ms AS varchar) ELSE '' END, 0, amount_fen
  FROM entry WHERE counterparty LIKE 'packet:%' AND at_ms < :until_ms) x
GROUP BY subject, what

-- check_known_packets I1
SELECT substr(e.counterparty, 8) AS subject, 'packet of entry ' || e.transfer_id AS what, 'one' AS expected, CASE WHEN p.packet_id IS NULL THEN 'none' ELSE 'one' END AS actual
FROM entry e LEFT JOIN packet p ON p.packet_id = substr(e.counterparty, 8)
WHERE e.counterparty LIKE 'packet:%' AND e.at_ms < :until_ms

-- check_budgets I1
SELECT campaign_id AS subject, 'spent of the budget vs packets' AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT campaign_id, total_fen AS wanted, 0 AS found, created_at_ms AS at_ms FROM member
  UNION ALL SELECT campaign_id, 0, budget_fen - budget_left_fen, 0 FROM campaign) x
GROUP BY campaign_id HAVING MAX(at_ms) < :until_ms
UNION ALL
SELECT packet_id, 'paid for by campaign ' || campaign_id || ' at ' || CAST(at_ms AS varchar), SUM(wanted), SUM(found) FROM (
  SELECT packet_id, campaign_id, created_at_ms AS at_ms, total_fen AS wanted, 0 AS found FROM packet WHERE campaign_id IS NOT NULL AND prize_id IS NULL
  UNION ALL SELECT packet_id, campaign_id, created_at_ms, 0, total_fen FROM member) y
WHERE at_ms < :until_ms GROUP BY packet_id, campaign_id, at_ms

-- check_tally I2
SELECT p.packet_id AS subject, 'settled + refunded at most' AS what,
  CASE WHEN COALESCE(t.settled_fen, 0) + COALESCE(t.refunded_fen, 0) <= CASE WHEN p.funded_at_ms IS NULL THEN 0 ELSE p.total_fen END
    THEN COALESCE(t.settled_fen, 0) + COALESCE(t.refunded_fen, 0) ELSE CASE WHEN p.funded_at_ms IS NULL THEN 0 ELSE p.total_fen END END AS expected,
  COALESCE(t.settled_fen, 0) + COALESCE(t.refunded_fen, 0) AS actual
FROM packet p LEFT JOIN (
  SELECT packet_id, SUM(CASE WHEN fate = 'claimed' AND settled_at_ms IS NOT NULL THEN amount_fen ELSE 0 END) AS settled_fen,
    SUM(CASE WHEN fate = 'refunded' THEN amount_fen ELSE 0 END) AS refunded_fen FROM share GROUP BY packet_id) t ON t.packet_id = p.packet_id

-- check_packet_total I2
SELECT p.packet_id AS subject, 'claims, refunds, and unsettled claims once closed' AS what,
  CAST(p.total_fen AS varchar) || ' fen of ' || CAST(p.share_count AS varchar) || ' shares: ' || COALESCE(CAST(p.claimed_count AS varchar) || ' for ' || CAST(p.claimed_fen AS varchar)
    || ', ' || CAST(p.refunded_count AS varchar) || ' for ' || CAST(p.refunded_fen AS varchar), 'no end') || ', 0' AS expected,
  CAST(COALESCE(t.settled_fen, 0) + COALESCE(t.refunded_fen, 0) AS varchar) || ' fen of ' || CAST(COALESCE(t.decided, 0) AS varchar) || ' shares: '
    || CAST(COALESCE(t.claimed, 0) AS varchar) || ' for ' || CAST(COALESCE(t.settled_fen, 0) AS varchar) || ', ' || CAST(COALESCE(t.refunded, 0) AS varchar)
    || ' for ' || CAST(COALESCE(t.refunded_fen, 0) AS varchar) || ', ' || CAST(COALESCE(t.unsettled, 0) AS varchar) AS actual
FROM packet p LEFT JOIN (
  SELECT packet_id, COUNT(*) AS decided, SUM(CASE WHEN fate = 'claimed' THEN 1 ELSE 0 END) AS claimed,
    SUM(CASE WHEN fate = 'refunded' THEN 1 ELSE 0 END) AS refunded,
    SUM(CASE WHEN fate = 'claimed' AND settled_at_ms IS NOT NULL THEN amount_fen ELSE 0 END) AS settled_fen,
    SUM(CASE WHEN fate = 'refunded' THEN amount_fen ELSE 0 END) AS refunded_fen,
    SUM(CASE WHEN fate = 'claimed' AND settled_at_ms IS NULL THEN 1 ELSE 0 END) AS unsettled FROM share GROUP BY packet_id) t ON t.packet_id = p.packet_id
WHERE p.status = 'closed' AND COALESCE(p.closed_at_ms, 0) < :until_ms

-- check_receipts I2
SELECT packet_id AS subject, what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT s.packet_id, 'receipt of share ' || CAST(s.share_no AS varchar) || ' to user:' || CASE WHEN s.fate = 'refunded' THEN COALESCE(p.sender_id, '') ELSE s.user_id END || ' at ' || CAST(s.moved_at_ms AS varchar) AS what,
    s.amount_fen AS wanted, 0 AS found
  FROM share s LEFT JOIN packet p ON p.packet_id = s.packet_id WHERE s.moved_at_ms < :until_ms
  UNION ALL
  SELECT packet_id, 'receipt of share ' || CAST(share_no AS varchar) || ' to ' || account || ' at ' || CAST(at_ms AS varchar), 0, amount_fen FROM receipt WHERE at_ms < :until_ms) x
WHERE :has_receipts = 1 GROUP BY packet_id, what

-- check_terms I3
SELECT packet_id AS subject, 'total of the terms' AS what, total_fen AS expected, stored_fen AS actual FROM packet

-- check_shares I3
SELECT s.packet_id AS subject, 'share ' || CAST(s.share_no AS varchar) AS what, 'as promised' AS expected,
  CASE WHEN s.share_no < 1 OR s.share_no > p.share_count THEN 'does not exist'
    WHEN p.split = 'equal' AND CAST(s.amount_fen AS decimal(19, 0)) * p.share_count <> p.total_fen THEN 'another amount'
    WHEN p.split <> 'equal' AND (s.amount_fen < p.share_fen_min OR s.amount_fen > p.share_fen_max) THEN 'another amount'
    WHEN s.fate = 'claimed' AND p.recipients IS NOT NULL AND strpos(',' || p.recipients || ',', ',' || s.user_id || ',') = 0 THEN 'taken by ' || s.user_id
    WHEN s.fate = 'claimed' AND p.chat_id IS NOT NULL AND COALESCE(s.chat_id, '') <> p.chat_id THEN 'taken outside its chat by ' || s.user_id
    ELSE 'as promised' END AS actual
FROM share s JOIN packet p ON p.packet_id = s.packet_id

-- check_packet_exists I3
SELECT s.packet_id AS subject, 'packet of share ' || CAST(s.share_no AS varchar) AS what, 'one' AS expected, CASE WHEN p.packet_id IS NULL THEN 'none' ELSE 'one' END AS actual
FROM share s LEFT JOIN packet p ON p.packet_id = s.packet_id

-- check_takers I4
SELECT packet_id AS subject, 'share ' || CAST(share_no AS varchar) || ' of ' || CAST(amount_fen AS varchar) || ' fen that the row of ' || user_id || ' names' AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT packet_id, user_id, share_no, amount_fen, decided_at_ms AS at_ms, 1 AS wanted, 0 AS found FROM share WHERE fate = 'claimed'
  UNION ALL SELECT packet_id, user_id, share_no, amount_fen, claimed_at_ms, 0, 1 FROM taker) x
WHERE at_ms < :until_ms GROUP BY packet_id, user_id, share_no, amount_fen, at_ms

-- check_once_per_user I4
SELECT s.packet_id AS subject, 'shares of ' || s.user_id AS what, 1 AS expected, COUNT(*) AS actual
FROM share s JOIN packet p ON p.packet_id = s.packet_id WHERE s.fate = 'claimed' AND p.prize_id IS NULL GROUP BY s.packet_id, s.user_id

-- check_late_claims I8
SELECT packet_id AS subject, 'share ' || CAST(share_no AS varchar) || ' settled by' AS what,
  CASE WHEN settled_at_ms IS NULL AND :now_ms > decided_at_ms + :late_ms THEN decided_at_ms + :late_ms ELSE :now_ms END AS expected, :now_ms AS actual
FROM share WHERE fate = 'claimed'

-- check_late_close I8
SELECT packet_id AS subject, 'closed by' AS what, CASE WHEN status NOT IN ('closed', 'cancelled') AND :now_ms > end_ms + :late_ms THEN end_ms + :late_ms ELSE :now_ms END AS expected, :now_ms AS actual
FROM (SELECT packet_id, status, CASE WHEN status = 'unpaid' THEN created_at_ms + :payment_life_ms ELSE expires_at_ms END AS end_ms FROM packet) x
UNION ALL
SELECT packet_id, 'cancelled with money of', 0, total_fen FROM packet WHERE status = 'cancelled' AND funded_at_ms IS NOT NULL
UNION ALL
SELECT packet_id, 'ends by', funded_at_ms + :longest_ms, expires_at_ms FROM packet WHERE campaign_id IS NULL AND expires_at_ms > funded_at_ms + :longest_ms

-- check_claim_counts I9
SELECT campaign_id || ' ' || user_id AS subject, 'claims counted' AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT p.campaign_id, s.user_id, 1 AS wanted, 0 AS found, s.decided_at_ms AS at_ms
  FROM share s JOIN packet p ON p.packet_id = s.packet_id WHERE s.fate = 'claimed' AND p.campaign_id IS NOT NULL AND p.prize_id IS NULL
  UNION ALL SELECT campaign_id, user_id, 0, claim_count, 0 FROM claim_count) x
GROUP BY campaign_id, user_id HAVING MAX(at_ms) < :until_ms

-- check_audiences I9
SELECT campaign_id AS subject, 'users on the list counted' AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT campaign_id, CASE WHEN is_member = 'true' THEN 1 ELSE 0 END AS wanted, 0 AS found FROM listed
  UNION ALL SELECT campaign_id, 0, member_count FROM audience) x
GROUP BY campaign_id

-- check_open_counts I9
SELECT account AS subject, 'open packets counted' AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT 'user:' || sender_id AS account, CASE WHEN status IN ('closed', 'cancelled', 'unpaid') THEN 0 ELSE 1 END AS wanted, 0 AS found,
    COALESCE(closed_at_ms, funded_at_ms, created_at_ms) AS at_ms FROM packet WHERE campaign_id IS NULL
  UNION ALL SELECT account, 0, open_count, 0 FROM balance) x
GROUP BY account HAVING MAX(at_ms) < :until_ms

-- check_unpaid_counts I9
SELECT account AS subject, 'unpaid packets counted' AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT 'user:' || sender_id AS account, CASE WHEN status = 'unpaid' THEN 1 ELSE 0 END AS wanted, 0 AS found,
    COALESCE(closed_at_ms, funded_at_ms, created_at_ms) AS at_ms FROM packet WHERE campaign_id IS NULL AND payment_id IS NOT NULL
  UNION ALL SELECT account, 0, unpaid_count, 0 FROM balance) x
GROUP BY account HAVING MAX(at_ms) < :until_ms

-- check_windows I-window
SELECT s.packet_id AS subject, 'share ' || CAST(s.share_no AS varchar) || ' claimed at ' || CAST(s.decided_at_ms AS varchar) AS what, 'in the window' AS expected,
  CASE WHEN MAX(CASE WHEN w.set_at_ms <= s.decided_at_ms + :window_ms AND COALESCE(w.until_ms, s.decided_at_ms) >= s.decided_at_ms - :window_ms
    AND w.starts_at_ms <= s.decided_at_ms + :window_ms AND w.ends_at_ms > s.decided_at_ms - :window_ms THEN 1 ELSE 0 END) = 1 THEN 'in the window' ELSE 'outside' END AS actual
FROM share s JOIN packet p ON p.packet_id = s.packet_id JOIN (
  SELECT campaign_id, starts_at_ms, ends_at_ms, set_at_ms, LEAD(set_at_ms) OVER (PARTITION BY campaign_id ORDER BY version) AS until_ms,
    MIN(set_at_ms) OVER (PARTITION BY campaign_id) AS first_ms FROM campaign_window) w ON w.campaign_id = p.campaign_id
WHERE s.fate = 'claimed' AND p.prize_id IS NULL AND s.decided_at_ms > w.first_ms + :window_ms AND s.decided_at_ms < :until_ms
GROUP BY s.packet_id, s.share_no, s.decided_at_ms

-- check_moved_ends I-window
SELECT p.packet_id AS subject, 'end within that of campaign ' || p.campaign_id AS what,
  CASE WHEN p.expires_at_ms > c.ends_at_ms THEN c.ends_at_ms ELSE p.expires_at_ms END AS expected, p.expires_at_ms AS actual
FROM packet p JOIN campaign c ON c.campaign_id = p.campaign_id JOIN (
  SELECT campaign_id, MAX(set_at_ms) AS set_at_ms FROM campaign_window GROUP BY campaign_id) w ON w.campaign_id = p.campaign_id
WHERE p.status = 'open' AND p.prize_id IS NULL AND w.set_at_ms < :until_ms
UNION ALL
SELECT c.campaign_id, 'state and window of its last edit', w.shown_as, c.shown_as FROM campaign c JOIN campaign_window w ON w.campaign_id = c.campaign_id
JOIN (SELECT campaign_id, MAX(version) AS version FROM campaign_window GROUP BY campaign_id) m ON m.campaign_id = w.campaign_id AND m.version = w.version
WHERE w.shown_as IS NOT NULL AND w.set_at_ms < :until_ms

-- check_own_ends I-window
SELECT s.packet_id AS subject, 'share ' || CAST(s.share_no AS varchar) || ' claimed at ' || CAST(s.decided_at_ms AS varchar) AS what, 'before the packet ended' AS expected,
  CASE WHEN s.decided_at_ms > p.asked_ends_at_ms + :window_ms THEN 'after it' ELSE 'before the packet ended' END AS actual
FROM share s JOIN packet p ON p.packet_id = s.packet_id
WHERE s.fate = 'claimed' AND p.asked_ends_at_ms IS NOT NULL AND s.decided_at_ms < :until_ms
