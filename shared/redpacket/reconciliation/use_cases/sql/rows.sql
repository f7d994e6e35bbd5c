-- entry
SELECT text(pk) AS account, text(pk) || ' ' || text(sk) AS name, text(transfer_id) AS transfer_id, text(kind) AS kind,
  num(amount_fen) AS amount_fen, text(counterparty) AS counterparty, num(at_ms) AS at_ms,
  COALESCE(num(placed_at_ms), 0) AS placed_at_ms, COALESCE(num(placed_at_ms), num(at_ms)) AS position_ms,
  COALESCE(text(commitment), '') AS commitment, TRY_CAST(split_part(text(sk), '#', 2) AS decimal(18, 0)) AS keyed_ms,
  CASE WHEN text(sk) LIKE 'claim#%' THEN COALESCE(num(placed_at_ms), num(at_ms)) ELSE num(at_ms) END AS place_ms
FROM accounts_raw WHERE text(sk) LIKE 'entry#%' OR text(sk) LIKE 'claim#%'

-- balance
SELECT text(pk) AS account, COALESCE(num(balance_fen), 0) AS balance_fen,
  num(sent_fen_:year) AS sent_fen_:year, num(sent_count_:year) AS sent_count_:year, num(received_fen_:year) AS received_fen_:year, num(received_count_:year) AS received_count_:year, num(luckiest_count_:year) AS luckiest_count_:year,
  COALESCE(num(open_count), 0) - COALESCE(num(unpaid_count), 0) AS open_count, COALESCE(num(unpaid_count), 0) AS unpaid_count,
  flag(is_for_campaigns) AS is_for_campaigns
FROM accounts_raw WHERE text(sk) = 'balance'

-- moved
SELECT CASE WHEN text(kind) = 'deposit' THEN text(subject) ELSE 'user:' || regexp_extract(text(changes), '"field":"to","before":null,"after":"([^"]*)"', 1) END AS account,
  CASE WHEN text(kind) = 'deposit' THEN 'deposits' ELSE text(subject) END AS payer,
  CASE WHEN text(kind) = 'deposit' THEN 'deposit' ELSE 'campaign_money' END AS kind,
  regexp_extract(text(changes), '"field":"transfer_id","before":null,"after":"([^"]*)"', 1) AS transfer_id, num(at_ms) AS at_ms, flag(is_approved) AS is_approved,
  TRY_CAST(NULLIF(regexp_extract(text(changes), '"field":"amount_fen","before":null,"after":"([0-9]{1,16})"', 1), '') AS decimal(18, 0)) AS amount_fen
FROM journal_raw WHERE flag(is_cause) = 'true' AND text(kind) IN ('deposit', 'campaign_money_moved')

-- mark
SELECT text(subject) AS account, MIN(CASE WHEN text(kind) = 'deposit' THEN num(at_ms) END) AS marked_at_ms,
  MIN(CASE WHEN text(kind) = 'campaign_mark_removed' THEN num(at_ms) END) AS unmarked_at_ms
FROM journal_raw WHERE flag(is_cause) = 'true'
AND (text(kind) = 'campaign_mark_removed' OR text(kind) = 'deposit' AND text(changes) LIKE '%"field":"is_for_campaigns","before":null,"after":"true"%')
GROUP BY text(subject)

-- receipt
SELECT text(pk) AS name, split_part(text(pk), '#', 2) AS packet_id, TRY_CAST(split_part(text(pk), '#', 3) AS decimal(18, 0)) AS share_no,
  text(account) AS account, num(amount_fen) AS amount_fen, num(at_ms) AS at_ms
FROM accounts_raw WHERE text(sk) = 'receipt'

-- packet
SELECT text(packet_id) AS packet_id, text(pk) AS name, text(sender_id) AS sender_id, text(kind) AS kind, text(status) AS status,
  split_part(text(terms), ',', 2) AS split, TRY_CAST(split_part(text(terms), ',', 3) AS decimal(18, 0)) AS total_fen,
  TRY_CAST(split_part(text(terms), ',', 4) AS decimal(18, 0)) AS share_count, TRY_CAST(split_part(text(terms), ',', 5) AS decimal(18, 0)) AS share_fen_min,
  TRY_CAST(split_part(text(terms), ',', 6) AS decimal(18, 0)) AS share_fen_max, num(total_fen) AS stored_fen,
  num(created_at_ms) AS created_at_ms, num(expires_at_ms) AS expires_at_ms, num(asked_ends_at_ms) AS asked_ends_at_ms,
  num(closed_at_ms) AS closed_at_ms,
  CASE WHEN text(payment_id) IS NULL THEN num(created_at_ms) ELSE num(paid_at_ms) END AS funded_at_ms, text(payment_id) AS payment_id,
  text(campaign_id) AS campaign_id, text(prize_id) AS prize_id, text(recipients) AS recipients, text(chat_id) AS chat_id,
  num(claimed_count) AS claimed_count, num(claimed_fen) AS claimed_fen, num(refunded_count) AS refunded_count,
  num(refunded_fen) AS refunded_fen, text(luckiest_user_id) AS luckiest_user_id, num(luckiest_at_ms) AS luckiest_at_ms
FROM packets_raw WHERE text(sk) = 'packet'

-- share
SELECT text(pk) || ' ' || text(sk) AS name, split_part(text(pk), '#', 2) AS packet_id, TRY_CAST(substr(text(sk), 7) AS decimal(18, 0)) AS share_no,
  text(fate) AS fate, num(amount_fen) AS amount_fen, num(decided_at_ms) AS decided_at_ms, COALESCE(text(user_id), '') AS user_id, text(chat_id) AS chat_id,
  num(settled_at_ms) AS settled_at_ms, COALESCE(num(refund_no), 0) AS refund_no,
  CASE WHEN text(fate) = 'refunded' THEN num(decided_at_ms) ELSE num(settled_at_ms) END AS moved_at_ms
FROM shares_raw WHERE text(sk) LIKE 'share#%'

-- taker
SELECT text(pk) || ' ' || text(sk) AS name, split_part(text(sk), '#', 2) AS packet_id, substr(text(pk), 6) AS user_id,
  num(share_no) AS share_no, num(amount_fen) AS amount_fen, num(claimed_at_ms) AS claimed_at_ms
FROM shares_raw WHERE text(sk) LIKE 'claim#%'

-- claim_count
SELECT text(pk) AS name, split_part(text(pk), '#', 1) AS campaign_id, split_part(text(pk), '#', 2) AS user_id, num(claim_count) AS claim_count
FROM quotas_raw WHERE text(pk) NOT LIKE 'thanks#%'

-- listed
SELECT split_part(text(pk), '#', 2) AS campaign_id, flag(is_member) AS is_member FROM audience_raw WHERE text(pk) LIKE 'members#%'

-- audience
SELECT substr(text(pk), 10) AS campaign_id, num(member_count) AS member_count FROM audience_raw WHERE text(pk) LIKE 'audience#%'

-- campaign
SELECT substr(text(pk), 10) AS campaign_id, num(budget_fen) AS budget_fen, num(budget_left_fen) AS budget_left_fen, num(ends_at_ms) AS ends_at_ms,
  text(status) || ' ' || CAST(num(starts_at_ms) AS varchar) || ' ' || CAST(num(ends_at_ms) AS varchar) AS shown_as
FROM campaigns_raw WHERE text(pk) LIKE 'campaign#%' AND text(sk) = 'campaign'

-- campaign_window
SELECT split_part(text(pk), '#', 2) AS campaign_id, TRY_CAST(substr(text(sk), 8) AS decimal(18, 0)) AS version,
  num(starts_at_ms) AS starts_at_ms, num(ends_at_ms) AS ends_at_ms, num(set_at_ms) AS set_at_ms,
  text(status) || ' ' || CAST(num(starts_at_ms) AS varchar) || ' ' || CAST(num(ends_at_ms) AS varchar) AS shown_as
FROM campaigns_raw WHERE text(pk) LIKE 'windows#%' AND text(sk) LIKE 'window#%' -- a send may put any sk into packets#

-- sealed
SELECT substr(text(pk), 10) AS campaign_id, text(commitment) AS commitment FROM campaigns_raw WHERE text(pk) LIKE 'campaign#%' AND text(sk) = 'shown'

-- member
SELECT text(pk) || ' ' || text(sk) AS name, split_part(text(pk), '#', 2) AS campaign_id, substr(text(sk), 8) AS packet_id, num(total_fen) AS total_fen, num(created_at_ms) AS created_at_ms
FROM campaigns_raw WHERE text(pk) LIKE 'packets#%' AND text(sk) LIKE 'packet#%'

-- draw
SELECT text(pk) || ' ' || text(sk) AS name, split_part(text(pk), '#', 2) AS campaign_id, split_part(text(pk), '#', 3) AS user_id,
  text(draw_id) AS draw_id, text(day) AS day, num(draw_no) AS draw_no, num(drawn_at_ms) AS drawn_at_ms, num(point) AS point, text(odds) AS odds,
  NULLIF(regexp_extract(text(prize), '"prize_id":"([^"]*)"', 1), '') AS prize_id,
  NULLIF(regexp_extract(text(prize), '"kind":"([^"]*)"', 1), '') AS prize_kind,
  TRY_CAST(NULLIF(regexp_extract(text(prize), '"amount_fen":([0-9]+)', 1), '') AS decimal(18, 0)) AS amount_fen,
  TRY_CAST(NULLIF(regexp_extract(text(prize), '"per_day":([0-9]+)', 1), '') AS decimal(18, 0)) AS per_day,
  TRY_CAST(NULLIF(regexp_extract(text(prize), '"total":([0-9]+)', 1), '') AS decimal(18, 0)) AS total,
  NULLIF(regexp_extract(text(prize), '"once_per_user":(true)', 1), '') AS is_once,
  COALESCE(num(unit_no), 0) AS unit_no, COALESCE(num(day_no), 0) AS day_no
FROM draws_raw WHERE text(pk) LIKE 'user#%' AND text(sk) LIKE 'draw#%'

-- unit
SELECT text(pk) || ' ' || text(sk) AS name, split_part(text(pk), '#', 2) AS campaign_id, split_part(text(pk), '#', 3) AS prize_id,
  CASE WHEN text(sk) LIKE 'day#%' THEN split_part(text(sk), '#', 2) ELSE '' END AS day,
  TRY_CAST(CASE WHEN text(sk) LIKE 'day#%' THEN split_part(text(sk), '#', 3) ELSE split_part(text(sk), '#', 2) END AS decimal(18, 0)) AS unit_no,
  text(user_id) AS user_id, text(draw_id) AS draw_id
FROM draws_raw WHERE text(pk) LIKE 'units#%'

-- player
SELECT text(pk) || ' ' || text(sk) AS name, split_part(text(pk), '#', 2) AS campaign_id, split_part(text(pk), '#', 3) AS user_id, substr(text(sk), 5) AS day,
  num(attempt_count) AS attempt_count, num(win_count) AS win_count, COALESCE(num(help_count), 0) AS help_count,
  COALESCE(num(attempts_max), 0) AS attempts_max, COALESCE(num(wins_max), 0) AS wins_max
FROM draws_raw WHERE text(pk) LIKE 'user#%' AND text(sk) LIKE 'day#%'

-- winner
SELECT split_part(text(pk), '#', 2) AS campaign_id, split_part(text(pk), '#', 3) AS user_id, substr(text(sk), 5) AS prize_id, text(draw_id) AS draw_id
FROM draws_raw WHERE text(pk) LIKE 'user#%' AND text(sk) LIKE 'won#%'

-- help_given
SELECT split_part(text(pk), '#', 2) AS campaign_id, split_part(text(pk), '#', 3) AS user_id, text(day) AS day, COALESCE(num(helped_at_ms), 0) AS helped_at_ms
FROM draws_raw WHERE text(pk) LIKE 'user#%' AND text(sk) LIKE 'help#%'

-- payment
SELECT text(pk) AS name, text(number) AS number, text(user_id) AS user_id, num(amount_fen) AS amount_fen, text(channel) AS channel, text(payment_status) AS status,
  num(created_at_ms) AS created_at_ms, num(expires_at_ms) AS expires_at_ms, num(closed_at_ms) AS closed_at_ms, num(credited_at_ms) AS credited_at_ms,
  COALESCE(num(ordered_at_ms), num(created_at_ms)) AS ordered_at_ms, COALESCE(text(transaction_id), '') AS transaction_id, COALESCE(num(reversed_fen), 0) AS reversed_fen,
  COALESCE(num(returned_fen), 0) AS returned_fen, text(work_pk) AS work_pk
FROM payments_raw WHERE text(sk) = 'payment'

-- payment_return
SELECT text(pk) || ' ' || text(sk) AS name, substr(text(pk), 9) AS number, substr(text(sk), 8) AS transaction_id, num(amount_fen) AS amount_fen,
  COALESCE(num(refunded_fen), 0) AS refunded_fen, text(return_reason) AS reason, text(return_status) AS status, num(noted_at_ms) AS noted_at_ms, num(done_at_ms) AS done_at_ms,
  COALESCE(text(work_pk), text(list_pk)) AS listed_pk
FROM payments_raw WHERE text(pk) LIKE 'payment#%' AND text(sk) LIKE 'return#%'

-- payment_refund
SELECT text(pk) || ' ' || text(sk) AS name, substr(text(pk), 9) AS number, substr(text(sk), 8) AS refund_no, text(user_id) AS user_id,
  num(wallet_fen) AS wallet_fen, num(owed_fen) AS owed_fen, COALESCE(num(returned_fen), 0) AS returned_fen, num(noted_at_ms) AS noted_at_ms
FROM payments_raw WHERE text(pk) LIKE 'payment#%' AND text(sk) LIKE 'refund#%'

-- withdrawal
SELECT text(pk) AS name, text(withdrawal_id) AS withdrawal_id, text(user_id) AS user_id, num(amount_fen) AS amount_fen, text(channel) AS channel, text(limit_day) AS day,
  num(created_at_ms) AS created_at_ms, text(withdrawal_status) AS status, num(attempt_no) AS attempt_no,
  COALESCE(text(outside_no), '') AS outside_no, num(ended_at_ms) AS ended_at_ms, text(returned_on) AS returned_on, text(work_pk) AS work_pk
FROM payments_raw WHERE text(sk) = 'withdrawal'

-- withdrawn
SELECT text(pk) || ' ' || text(sk) AS name, substr(text(pk), 6) AS user_id, substr(text(sk), 11) AS day, num(withdrawn_count) AS withdrawn_count, num(withdrawn_fen) AS withdrawn_fen
FROM payments_raw WHERE text(pk) LIKE 'user#%' AND text(sk) LIKE 'withdrawn#%'

-- booked
SELECT text(pk) || ' ' || text(sk) AS name, text(bill_kind) AS kind, split_part(text(sk), '#', 1) AS number, split_part(text(sk), '#', 2) AS outside_no,
  num(amount_fen) AS amount_fen, num(noted_at_ms) AS noted_at_ms, COALESCE(text(of_number), '') AS of_number,
  num(moved_at_ms) AS moved_at_ms, split_part(text(pk), '#', 3) || ' ' || split_part(text(pk), '#', 4) AS part,
  split_part(text(pk), '#', 2) AS channel, split_part(text(pk), '#', 5) AS shard
FROM payments_raw WHERE text(pk) LIKE 'outside#%'

-- logged
SELECT 'entry ' || split_part(line, ',', 1) AS name, TRY_CAST(split_part(line, ',', 1) AS decimal(18, 0)) AS log_index, split_part(line, ',', 2) AS kind,
  split_part(line, ',', 3) AS id_hash, split_part(line, ',', 4) AS commitment, TRY_CAST(split_part(line, ',', 5) AS decimal(18, 0)) AS at_ms
FROM log_raw CROSS JOIN UNNEST(split(text(entries), ';')) AS entry_lines (line) WHERE text(pk) LIKE 'entries#%'

-- log_head
SELECT num(log_size) AS log_size FROM log_raw WHERE text(pk) = 'head' AND text(sk) = 'signed'

-- commitment
SELECT text(pk) AS id_hash, text(kind) AS kind, text(commitment) AS commitment, num(at_ms) AS at_ms, num(log_index) AS log_index FROM commitments_raw

-- asked_entry
SELECT 'user:' || user_id AS account, 'payment:' || number AS transfer_id, 'payment' AS kind, amount_fen, 'payment:' || number AS counterparty, credited_at_ms AS at_ms
FROM payment WHERE credited_at_ms IS NOT NULL
UNION ALL SELECT 'user:' || user_id, 'payment_refund:' || number || ':' || refund_no, 'payment_refunded', -wallet_fen, 'payment:' || number, noted_at_ms
FROM payment_refund WHERE wallet_fen <> 0
UNION ALL SELECT 'receivable:' || user_id, 'payment_refund:' || number || ':' || refund_no, 'payment_refunded', -owed_fen, 'payment:' || number, noted_at_ms
FROM payment_refund WHERE owed_fen <> 0
UNION ALL SELECT 'user:' || user_id, 'withdrawal:' || withdrawal_id, 'withdrawal', -amount_fen, 'withdrawal:' || withdrawal_id, created_at_ms FROM withdrawal
UNION ALL SELECT 'user:' || user_id, 'withdrawal_returned:' || withdrawal_id, 'withdrawal_returned', amount_fen, 'withdrawal:' || withdrawal_id, ended_at_ms
FROM withdrawal WHERE status IN ('failed', 'cancelled') AND ended_at_ms IS NOT NULL
