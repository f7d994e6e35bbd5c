#!lua
--[[
draw_prize.lua - decide one user's attempt in a lottery; every retry gets the same outcome.

KEYS[1]  lottery  HASH  "#" -> rules (lib/lottery_rules), "=" -> prizes in the odds, prize_id -> prize (lib/prize)  rp:{draw:<campaign_id>}
KEYS[2]  day      HASH  "u:" user -> player (lib/player), "n:" prize -> its day's units (lib/stock), "d:" draw_id -> outcome, "=" -> shared odds, "o:" name -> odds (lib/odds)  rp:{draw:<campaign_id>}:<day>
KEYS[3]  winners  HASH  user_id -> ",", then each once-only prize that the user won and ","  rp:{draw:<campaign_id>}:winners
ARGV[1]  user_id
ARGV[2]  draw_id
ARGV[3]  point          52 random bits
ARGV[4]  day_starts_ms
ARGV[5]  day_ends_ms

Returns one string. <version> is the cache's, <outcome> is "<prize_id or -> <unit_no> <day_no> <version> <odds>". The first status that applies wins:
  campaign_not_loaded    never loaded, or evicted: load it and try again
  campaign_ended <version>
  campaign_not_started <version>
  campaign_paused <version>
  wrong_day              the server's clock is outside the given day
  drawn_before <outcome>  a retry of the same attempt
  attempts_exhausted <version>
  missed <outcome>
  won <outcome>

Why a script: counting, choosing and taking a unit must be atomic and see one version. The version shows the
caller whether the cache missed an edit. If so, the caller does not return the outcome or refusal to the user.
]]
local cache_key = KEYS[1]
local day_key = KEYS[2]
local winners_key = KEYS[3]
local user_id = ARGV[1]
local draw_id = ARGV[2]
local point = tonumber(ARGV[3])
local day_starts_ms = tonumber(ARGV[4])
local day_ends_ms = tonumber(ARGV[5])

-- @include lib/now_ms
-- @include lib/lottery_rules
-- @include lib/player
-- @include lib/stock
-- @include lib/prize
-- @include lib/odds
-- @include lib/win
local state = redis.call('HGET', cache_key, '#')
if not state then
  return 'campaign_not_loaded'
end
local rules = read_rules(state)
local now = now_ms()
if now >= rules.ends_at_ms then
  return 'campaign_ended ' .. rules.version
elseif now < rules.starts_at_ms then
  return 'campaign_not_started ' .. rules.version
elseif string.sub(state, 1, 1) == 'P' then
  return 'campaign_paused ' .. rules.version
elseif now < day_starts_ms or now >= day_ends_ms then
  return 'wrong_day'
end
local before = redis.call('HGET', day_key, 'd:' .. draw_id)
if before then
  return 'drawn_before ' .. recall_draw(day_key, before)
end
local player = read_player(redis.call('HGET', day_key, 'u:' .. user_id))
if rules.attempts_max > 0 and player.attempt_count >= rules.attempts_max then
  return 'attempts_exhausted ' .. rules.version
end

local won = rules.has_once and redis.call('HGET', winners_key, user_id)
local standing = standing_odds(cache_key, day_key, day_ends_ms, rules, now)
local odds = odds_of(cache_key, player, won, standing, rules)
local prize_id = choose(odds, point)
local unit_no, day_no, is_once = 0, 0, false
if prize_id then
  unit_no, day_no, is_once = win(cache_key, day_key, prize_id, rules, now)
end
if is_once then
  note_winner(winners_key, user_id, won, prize_id, rules.ends_at_ms + 86400000)
end
local outcome = string.format('%s %d %d %d', prize_id or '-', unit_no, day_no, rules.version)
local name = odds.name or name_odds(day_key, odds.text)
redis.call('HSET', day_key, 'u:' .. user_id, count_draw(player, prize_id),
  'd:' .. draw_id, outcome .. ' ' .. name .. ' ' .. player.miss_streak)
if not prize_id then
  return 'missed ' .. outcome .. ' ' .. odds.text
end
return 'won ' .. outcome .. ' ' .. odds.text
