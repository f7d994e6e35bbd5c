#!lua
--[[
draw_player.lua - overwrite a user's counts for a day with the ledger's.

KEYS[1]  day  HASH  "u:" user -> player (lib/player), and more  rp:{draw:<campaign_id>}:<day>
ARGV[1]  user_id
ARGV[2]  player
ARGV[3]  keep_until_ms

Returns:
  set

Why a script: the key must never exist without an expiry.
]]
local day_key = KEYS[1]
local user_id = ARGV[1]
local player = ARGV[2]
local keep_until_ms = ARGV[3]

redis.call('HSET', day_key, 'u:' .. user_id, player)
redis.call('PEXPIREAT', day_key, keep_until_ms)
return 'set'
