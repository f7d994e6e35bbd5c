-- packets
SELECT packet_id FROM packet
WHERE created_at_ms < :until_ms AND (campaign_id IS NOT NULL AND COALESCE(closed_at_ms, :now_ms) > :now_ms - :audited_ms
  OR substr(packet_id, 3, 1) = ':letter' OR created_at_ms > :now_ms - :audited_ms)
ORDER BY CASE WHEN campaign_id IS NOT NULL THEN 0 WHEN substr(packet_id, 3, 1) = ':letter' THEN 1 ELSE 2 END, substr(packet_id, :place, 4) LIMIT :audits_max

-- draws
SELECT campaign_id, user_id, draw_id FROM draw
WHERE drawn_at_ms < :until_ms AND (drawn_at_ms > :now_ms - :audited_ms OR unit_no > total OR substr(user_id, 3, 1) = ':letter')
ORDER BY CASE WHEN unit_no > total THEN 0 ELSE 1 END, substr(draw_id, :place, 8) LIMIT :audits_max

-- campaigns
SELECT campaign_id FROM campaign ORDER BY ends_at_ms DESC LIMIT :audits_max

-- history
SELECT CAST(COUNT(*) AS varchar) || ' entries, ' || CAST(COALESCE(SUM(CAST(amount_fen AS decimal(19, 0)) * at_ms), 0) AS varchar)
  || ', ' || CAST(COALESCE(SUM(CAST(amount_fen AS decimal(19, 0)) * (code_of(account) * CAST(at_ms % 1000003 AS bigint))), 0) AS varchar) AS history FROM entry WHERE at_ms < :until_ms
