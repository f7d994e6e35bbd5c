-- Takes a unit of a prize, and a unit of the day's stock if the prize has one. Returns both numbers, and whether
-- the prize is once-only.
local function win(cache_key, day_key, prize_id, rules, now)
  local prize = read_prize(redis.call('HGET', cache_key, prize_id))
  local today = read_stock(prize.per_day > 0 and redis.call('HGET', day_key, 'n:' .. prize_id))
  local unit_no, day_no = take_no(prize.units, prize.total), 0
  redis.call('HSET', cache_key, prize_id, write_prize(prize))
  if prize.per_day > 0 then
    day_no = take_no(today, prize.per_day)
    redis.call('HSET', day_key, 'n:' .. prize_id, write_stock(today))
  end
  if not is_left(prize, today, hour_of(rules, now)) then
    raise_revision(cache_key)
  end
  return unit_no, day_no, prize.is_once
end

local function note_winner(winners_key, user_id, won, prize_id, keep_until_ms)
  redis.call('HSET', winners_key, user_id, (won or ',') .. prize_id .. ',')
  redis.call('PEXPIREAT', winners_key, keep_until_ms)
end
