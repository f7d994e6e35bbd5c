-- check_lottery I9
SELECT campaign_id || ' ' || prize_id AS subject, 'rows of unit ' || CAST(unit_no AS varchar) || ' ' || day AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT campaign_id, prize_id, unit_no, '' AS day, draw_id, user_id, 1 AS wanted, 0 AS found, drawn_at_ms FROM draw WHERE prize_kind <> 'packet'
  UNION ALL SELECT campaign_id, prize_id, day_no, day, draw_id, user_id, 1, 0, drawn_at_ms FROM draw WHERE prize_id IS NOT NULL AND day_no <> 0
  UNION ALL SELECT campaign_id, prize_id, unit_no, day, draw_id, user_id, 0, 1, 0 FROM unit) x
GROUP BY campaign_id, prize_id, unit_no, day, draw_id, user_id HAVING MAX(drawn_at_ms) < :until_ms
UNION ALL
SELECT campaign_id || ' ' || prize_id, 'draws that won unit ' || CAST(unit_no AS varchar), 1, COUNT(*) FROM draw WHERE prize_id IS NOT NULL GROUP BY campaign_id, prize_id, unit_no
UNION ALL
SELECT campaign_id || ' ' || prize_id, 'wins of ' || user_id, 1, COUNT(*) FROM draw WHERE is_once IS NOT NULL GROUP BY campaign_id, prize_id, user_id
UNION ALL
SELECT campaign_id || ' ' || prize_id, 'rows of the only win of ' || user_id, SUM(wanted), SUM(found) FROM (
  SELECT campaign_id, prize_id, user_id, draw_id, 1 AS wanted, 0 AS found, drawn_at_ms FROM draw WHERE is_once IS NOT NULL
  UNION ALL SELECT campaign_id, prize_id, user_id, draw_id, 0, 1, 0 FROM winner) y
GROUP BY campaign_id, prize_id, user_id, draw_id HAVING MAX(drawn_at_ms) < :until_ms

-- check_cash I9
SELECT campaign_id || ' ' || prize_id AS subject, 'claims of ' || user_id || ' of ' || CAST(amount_fen AS varchar) || ' fen at ' || CAST(at_ms AS varchar) AS what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT campaign_id, prize_id, user_id, amount_fen, drawn_at_ms AS at_ms, 1 AS wanted, 0 AS found FROM draw WHERE prize_kind = 'packet'
  UNION ALL
  SELECT COALESCE(p.campaign_id, ''), p.prize_id, s.user_id, s.amount_fen, s.decided_at_ms, 0, 1
  FROM share s JOIN packet p ON p.packet_id = s.packet_id WHERE s.fate = 'claimed' AND p.prize_id IS NOT NULL) x
WHERE at_ms < :until_ms GROUP BY campaign_id, prize_id, user_id, amount_fen, at_ms

-- check_unit I9
SELECT campaign_id || ' ' || prize_id AS subject, 'unit of ' || day || ' of draw ' || draw_id AS what, 'within the stock' AS expected,
  CASE WHEN unit_no < 1 OR per_day > 0 AND (day_no < 1 OR day_no > per_day) THEN CAST(unit_no AS varchar) || ' ' || CAST(day_no AS varchar) ELSE 'within the stock' END AS actual
FROM draw WHERE prize_id IS NOT NULL

-- check_players I9
SELECT campaign_id || ' ' || user_id || ' ' || day AS subject, what, SUM(wanted) AS expected, SUM(found) AS actual FROM (
  SELECT campaign_id, user_id, day, 'attempts counted' AS what, 1 AS wanted, 0 AS found, drawn_at_ms AS at_ms FROM draw
  UNION ALL SELECT campaign_id, user_id, day, 'twice the sum of the numbers of draws', 2 * draw_no, 0, drawn_at_ms FROM draw
  UNION ALL SELECT campaign_id, user_id, day, 'wins counted', CASE WHEN prize_id IS NULL THEN 0 ELSE 1 END, 0, drawn_at_ms FROM draw
  UNION ALL SELECT campaign_id, user_id, day, 'helps counted', 1, 0, helped_at_ms FROM help_given
  UNION ALL SELECT campaign_id, user_id, day, 'attempts counted', 0, attempt_count + help_count, 0 FROM player
  UNION ALL SELECT campaign_id, user_id, day, 'twice the sum of the numbers of draws', 0, CAST(attempt_count + help_count AS decimal(19, 0)) * (attempt_count + help_count + 1), 0 FROM player
  UNION ALL SELECT campaign_id, user_id, day, 'wins counted', 0, win_count, 0 FROM player
  UNION ALL SELECT campaign_id, user_id, day, 'helps counted', 0, help_count, 0 FROM player) x
GROUP BY campaign_id, user_id, day, what HAVING MAX(at_ms) < :until_ms

-- check_player I9
SELECT campaign_id || ' ' || user_id || ' ' || day AS subject, 'attempts within' AS what, CASE WHEN attempt_count > attempts_max THEN attempts_max ELSE attempt_count END AS expected, attempt_count AS actual FROM player
UNION ALL
SELECT campaign_id || ' ' || user_id || ' ' || day, 'wins within', CASE WHEN win_count > wins_max THEN wins_max ELSE win_count END, win_count FROM player
