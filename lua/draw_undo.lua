#!lua flags=allow-oom
--[[
draw_undo.lua - undo an attempt that did not become durable, including its counts.

KEYS[1]  lottery  HASH  "#" -> rules (lib/lottery_rules), "=" -> prizes in the odds, prize_id -> prize (lib/prize)  rp:{draw:<campaign_id>}
KEYS[2]  day      HASH  "u:" user -> player (lib/player), "n:" prize -> its day's units (lib/stock), "d:" draw_id -> outcome, and more  rp:{draw:<campaign_id>}:<day>
KEYS[3]  winners  HASH  user_id -> ",", then each once-only prize that the user won and ","  rp:{draw:<campaign_id>}:winners
ARGV[1]  user_id
ARGV[2]  draw_id
ARGV[3]  is_unit_free  "1": offer the unit's numbers again; otherwise another user has the unit

Returns the first of these statuses that applies:
  unchanged  no such attempt: this is a retry, or the key is gone
  undone

Why a script: the user, the prize and the attempt must change together.
The script also runs when memory is full, because it adds a few bytes at most.
]]
local cache_key = KEYS[1]
local day_key = KEYS[2]
local winners_key = KEYS[3]
local user_id = ARGV[1]
local draw_id = ARGV[2]
local is_unit_free = ARGV[3] == '1'

local before = redis.call('HGET', day_key, 'd:' .. draw_id)
if not before then
  return 'unchanged'
end

-- @include lib/player
-- @include lib/stock
-- @include lib/prize
-- @include lib/lottery_rules
local prize_id, unit_no, day_no, streak = string.match(before, '^(%S+) (%d+) (%d+) .* (%d+)$')
local is_won = prize_id ~= '-'
local player = read_player(redis.call('HGET', day_key, 'u:' .. user_id))
player.attempt_count = player.attempt_count - 1
player.win_count = math.max(0, player.win_count - (is_won and 1 or 0))
player.miss_streak = streak
redis.call('HSET', day_key, 'u:' .. user_id, write_player(player))
redis.call('HDEL', day_key, 'd:' .. draw_id)

local won = is_won and redis.call('HGET', winners_key, user_id)
if won then
  -- Search for plain text, because a prize id may contain characters that are special in Lua patterns.
  local place = string.find(won, ',' .. prize_id .. ',', 1, true)
  if place then
    won = string.sub(won, 1, place) .. string.sub(won, place + #prize_id + 2)
    redis.call('HSET', winners_key, user_id, won)
  end
end
local prize = is_won and is_unit_free and redis.call('HGET', cache_key, prize_id)
if prize then
  prize = read_prize(prize)
  offer_no(prize.units, tonumber(unit_no))
  redis.call('HSET', cache_key, prize_id, write_prize(prize))
  local today = read_stock(redis.call('HGET', day_key, 'n:' .. prize_id))
  if tonumber(day_no) > 0 then
    offer_no(today, tonumber(day_no))
    redis.call('HSET', day_key, 'n:' .. prize_id, write_stock(today))
  end
  raise_revision(cache_key)
end
return 'undone'
