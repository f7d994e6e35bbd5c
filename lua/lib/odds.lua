-- Odds in canonical form: "<prize_id>:<weight>,...|<miss_weight>", sorted by prize id, as lottery/model/odds.py
-- reads them. The odds that all users share are cached in the day's hash until the revision rises or the next
-- hour releases units. The cached parts have fixed positions, because every draw reads them:
--   <revision:13> <until_ms:13> <weight of all prizes:16> <miss_weight:16> <name:18> <odds>
-- without the spaces. Draw records contain the odds' name; the day's hash has a field with this name.
local function name_odds(day_key, text)
  local name = 'o:' .. string.sub(redis.sha1hex(text), 1, 16)
  redis.call('HSETNX', day_key, name, text)
  return name
end

-- A draw's record has the outcome, the name of the odds, and the user's consecutive misses before the draw.
local function recall_draw(day_key, record)
  local outcome, name = string.match(record, '^(.+) (%S+) %d+$')
  return outcome .. ' ' .. redis.call('HGET', day_key, name)
end

local function weigh(cache_key, day_key, day_ends_ms, rules, now)
  local hour = hour_of(rules, now)
  local odds = { prize_weight = 0, miss_weight = rules.miss_weight }
  local until_ms = rules.ends_at_ms
  local listed = {}
  for prize_id in string.gmatch(redis.call('HGET', cache_key, '='), '[^,!]+') do
    local prize = read_prize(redis.call('HGET', cache_key, prize_id))
    local today = read_stock(prize.per_day > 0 and redis.call('HGET', day_key, 'n:' .. prize_id))
    if is_left(prize, today, hour) then
      listed[#listed + 1] = string.format('%s:%.0f', prize_id, prize.weight)
      odds.prize_weight = odds.prize_weight + prize.weight
    elseif rules.misses_take_weight then
      odds.miss_weight = odds.miss_weight + prize.weight
    end
    if prize.per_hour > 0 then
      until_ms = math.min(until_ms, rules.starts_at_ms + hour * 3600000)
    end
  end
  odds.text = string.format('%s|%.0f', table.concat(listed, ','), odds.miss_weight)
  odds.name = name_odds(day_key, odds.text)
  redis.call('HSET', day_key, '=', string.format('%s%013.0f%016.0f%016.0f%s%s', rules.revision,
    until_ms, odds.prize_weight, odds.miss_weight, odds.name, odds.text))
  redis.call('PEXPIREAT', day_key, day_ends_ms + 86400000)
  return odds
end

local function standing_odds(cache_key, day_key, day_ends_ms, rules, now)
  local standing = redis.call('HGET', day_key, '=') or ''
  local revision, until_ms = string.sub(standing, 1, 13), string.sub(standing, 14, 26)
  if revision ~= rules.revision or now >= tonumber(until_ms) then
    return weigh(cache_key, day_key, day_ends_ms, rules, now)
  end
  return {
    prize_weight = tonumber(string.sub(standing, 27, 42)),
    miss_weight = tonumber(string.sub(standing, 43, 58)),
    name = string.sub(standing, 59, 76),
    text = string.sub(standing, 77),
  }
end

local function leave_out(odds, rules, is_out)
  local left = { prize_weight = odds.prize_weight, miss_weight = odds.miss_weight }
  local listed = {}
  for entry, prize_id, weight in string.gmatch(odds.text, '(([^,|:]+):(%d+))') do
    if is_out(prize_id) then
      left.prize_weight = left.prize_weight - tonumber(weight)
      if rules.misses_take_weight then
        left.miss_weight = left.miss_weight + tonumber(weight)
      end
    else
      listed[#listed + 1] = entry
    end
  end
  left.text = string.format('%s|%.0f', table.concat(listed, ','), left.miss_weight)
  return left
end

local function odds_of(cache_key, player, won, odds, rules)
  if rules.wins_max > 0 and player.win_count >= rules.wins_max then
    odds = leave_out(odds, rules, function() return true end)
  elseif won then
    local prizes = ',' .. redis.call('HGET', cache_key, '=') .. ','
    odds = leave_out(odds, rules, function(prize_id)
      return string.find(won, ',' .. prize_id .. ',', 1, true)
        and string.find(prizes, ',' .. prize_id .. '!,', 1, true)
    end)
  end
  local is_owed = rules.guaranteed_after > 0 and player.miss_streak >= rules.guaranteed_after
  if is_owed and odds.prize_weight > 0 and odds.miss_weight > 0 then
    local text = string.gsub(odds.text, '|%d+$', '|0')
    odds = { prize_weight = odds.prize_weight, miss_weight = 0, text = text }
  end
  return odds
end

-- Returns the prize at *point*, or nil for a miss. `choose` in lottery/model/odds.py does the same arithmetic.
local function choose(odds, point)
  local place = math.floor(point / 4503599627370496 * (odds.prize_weight + odds.miss_weight))
  if place >= odds.prize_weight then
    return nil
  end
  for prize_id, weight in string.gmatch(odds.text, '([^,|:]+):(%d+)') do
    place = place - tonumber(weight)
    if place < 0 then
      return prize_id
    end
  end
end
