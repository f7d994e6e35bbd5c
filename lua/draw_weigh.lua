#!lua
--[[
draw_weigh.lua - tell the odds that a user has now, and decide nothing.

KEYS[1]  lottery  HASH  "#" -> rules (lib/rules), "=" -> prizes in the odds, prize_id -> prize (lib/prize)  rp:{draw:<campaign_id>}
KEYS[2]  day      HASH  "n:" prize -> its day's units (lib/stock), "=" -> standing odds, "o:" name -> odds (lib/odds), and more  rp:{draw:<campaign_id>}:<day>
KEYS[3]  winners  HASH  user_id -> ",", then each once-only prize that they won and ","  rp:{draw:<campaign_id>}:winners
ARGV[1]  user_id
ARGV[2]  player         the user's counts, as the ledger has them (lib/player)
ARGV[3]  day_starts_ms
ARGV[4]  day_ends_ms

Returns one string. <version> is the cache's. The first status that applies wins:
  campaign_not_loaded    never loaded, or evicted: load it and try again
  campaign_ended <version>
  campaign_not_started <version>
  campaign_paused <version>
  wrong_day              the server's clock is not in that day
  attempts_exhausted <version>
  weighed <version> <odds>

Why a script: stock, prizes and version must be of one moment.
]]
local cache_key = KEYS[1]
local day_key = KEYS[2]
local winners_key = KEYS[3]
local user_id = ARGV[1]
local counts = ARGV[2]
local day_starts_ms = tonumber(ARGV[3])
local day_ends_ms = tonumber(ARGV[4])

-- @include lib/now_ms
-- @include lib/rules
-- @include lib/window
-- @include lib/player
-- @include lib/stock
-- @include lib/prize
-- @include lib/odds
local now = now_ms()
local reason, rules = refusal(redis.call('HGET', cache_key, '#'), day_starts_ms, day_ends_ms, now)
if reason then
  return reason
end
local player = read_player(counts)
if rules.attempts_max > 0 and player.attempt_count >= rules.attempts_max then
  return 'attempts_exhausted ' .. rules.version
end
local won = rules.has_once and redis.call('HGET', winners_key, user_id)
local standing = standing_odds(cache_key, day_key, day_ends_ms, rules, now)
local odds = odds_of(cache_key, player, won, standing, rules)
return 'weighed ' .. rules.version .. ' ' .. odds.text
