#!lua
--[[
packet_admit.lua - step one of two: let one user open a share, for a while.

KEYS[1]  packet    HASH  "#" -> state (lib/state), user_id -> share_no      rp:2{<packet_id>}
KEYS[2]  admitted  ZSET  user_id by the end of their admission             rp:2{<packet_id>}:admitted
ARGV[1]  user_id
ARGV[2]  life_ms       how long an admission lasts
ARGV[3]  admitted_max  how many may hold one at the same time

Returns one string; the first status that applies wins:
  already_claimed <share_no> [last]  the user has a share, and nothing to open
  packet_not_loaded                  never loaded, or forgotten: load it and ask again
  packet_emptied                     every number is handed out
  packet_expired
  packet_not_started
  admitted <until_ms>                also again, with the same end
  crowded <until_ms>                 all places are taken, the first one until then
"last" follows where the packet is emptied.

Why a script: counting the admitted and adding one must not interleave.
]]
local packet_key = KEYS[1]
local admitted_key = KEYS[2]
local user_id = ARGV[1]
local life_ms = tonumber(ARGV[2])
local admitted_max = tonumber(ARGV[3])

-- @include lib/open
local owned = or_owned()
if owned then
  return owned
end

-- @include lib/now_ms
local now = now_ms()
-- Fewer milliseconds than 2^53: a score is exact, and comes back as an integer.
redis.call('ZREMRANGEBYSCORE', admitted_key, '-inf', now)
local until_ms = redis.call('ZSCORE', admitted_key, user_id)
if until_ms then
  return 'admitted ' .. until_ms
end
if redis.call('ZCARD', admitted_key) >= admitted_max then
  return 'crowded ' .. redis.call('ZRANGE', admitted_key, 0, 0, 'WITHSCORES')[2]
end
until_ms = string.format('%d', now + life_ms)
redis.call('ZADD', admitted_key, until_ms, user_id)
redis.call('PEXPIREAT', admitted_key, until_ms)
return 'admitted ' .. until_ms
