#!lua
--[[
draw_winner.lua - record that a user has won a once-only prize.

KEYS[1]  lottery  HASH  "#" -> rules (lib/lottery_rules), and more  rp:{draw:<campaign_id>}
KEYS[2]  winners  HASH  user_id -> ",", then each once-only prize that the user won and ","  rp:{draw:<campaign_id>}:winners
ARGV[1]  user_id
ARGV[2]  prize_id

Returns the first of these statuses that applies:
  campaign_not_loaded  nothing is recorded: the ledger refuses a second win
  unchanged
  noted

Why a script: draws add to the same list concurrently.
]]
local cache_key = KEYS[1]
local winners_key = KEYS[2]
local user_id = ARGV[1]
local prize_id = ARGV[2]

local keep_until_ms = redis.call('PEXPIRETIME', cache_key)
if keep_until_ms < 0 then
  return 'campaign_not_loaded'
end
local won = redis.call('HGET', winners_key, user_id) or ','
if string.find(won, ',' .. prize_id .. ',', 1, true) then
  return 'unchanged'
end
redis.call('HSET', winners_key, user_id, won .. prize_id .. ',')
redis.call('PEXPIREAT', winners_key, keep_until_ms)
return 'noted'
