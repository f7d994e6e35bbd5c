-- check_log log
SELECT 'the public log' AS subject, 'entry ' || CAST(log_index AS varchar) AS what, MAX(wanted) AS expected, MAX(found) AS actual FROM (
  SELECT log_index, kind || ' ' || id_hash || ' ' || commitment || ' ' || CAST(at_ms AS varchar) AS wanted, CAST(NULL AS varchar) AS found FROM commitment WHERE log_index IS NOT NULL
  UNION ALL
  SELECT log_index, CAST(NULL AS varchar), kind || ' ' || id_hash || ' ' || commitment || ' ' || CAST(at_ms AS varchar) FROM logged) x
WHERE log_index < (SELECT MAX(log_size) FROM log_head) GROUP BY log_index
UNION ALL
SELECT 'the public log', 'entries', CAST(MAX(h.log_size) AS varchar), CAST(COUNT(l.log_index) AS varchar)
FROM log_head h LEFT JOIN logged l ON l.log_index < h.log_size HAVING COUNT(*) > 0

-- check_commitments log
SELECT s.subject, 'commitment in the log' AS what, s.commitment || ' ' || CAST(s.at_ms AS varchar) AS expected, c.commitment || ' ' || CAST(c.at_ms AS varchar) AS actual
FROM (SELECT p.packet_id AS subject, e.commitment, p.created_at_ms AS at_ms FROM packet p
  JOIN entry e ON e.transfer_id = 'send:' || p.packet_id AND e.account = 'user:' || p.sender_id WHERE p.prize_id IS NULL) s
LEFT JOIN commitment c ON c.commitment = s.commitment AND c.kind = 'packet' AND c.log_index IS NOT NULL
WHERE s.at_ms < :until_ms AND s.at_ms >= :demanded_after_ms + (SELECT MIN(at_ms) FROM logged)
UNION ALL
SELECT 'campaign ' || s.campaign_id, 'commitment in the log', s.commitment, l.commitment
FROM sealed s JOIN commitment c ON c.commitment = s.commitment LEFT JOIN logged l ON l.commitment = s.commitment AND l.kind = 'campaign'
WHERE c.at_ms < :until_ms AND c.at_ms >= :demanded_after_ms + (SELECT MIN(at_ms) FROM logged)
UNION ALL
SELECT 'campaign with the hash ' || c.id_hash, 'commitment that it shows', c.commitment, s.commitment
FROM commitment c LEFT JOIN sealed s ON s.commitment = c.commitment WHERE c.kind = 'campaign' AND c.at_ms < :until_ms
