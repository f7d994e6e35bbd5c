#!lua
--[[
packet_admit.lua - step one of two: allow one user to open a share, for a limited time.

KEYS[1]  packet    HASH  "#" -> state (lib/state), user_id -> share_no      rp:4{<packet_id>}
KEYS[2]  admitted  ZSET  user_id, scored by the admission's end            rp:4{<packet_id>}:admitted
ARGV[1]  user_id
ARGV[2]  life_ms       how long an admission lasts
ARGV[3]  admitted_max  how many admissions may exist at the same time

Returns one string with the first of these statuses that applies:
  already_claimed <share_no> [last]  the user already has a share
  packet_not_loaded                  never loaded, or evicted: load it and try again
  packet_emptied                     all numbers are handed out
  packet_expired
  packet_not_started
  admitted <until_ms>                a retry gets the same until_ms
  crowded <until_ms>                 all admissions are in use; the next one ends at until_ms
"last" follows if the packet is emptied.

Why a script: concurrent calls must not all take the last admission.
]]
local packet_key = KEYS[1]
local admitted_key = KEYS[2]
local user_id = ARGV[1]
local life_ms = tonumber(ARGV[2])
local admitted_max = tonumber(ARGV[3])

-- @include lib/now_ms
-- @include lib/open
local answer = check_open(packet_key, user_id) or or_owned(packet_key, user_id)
if answer then
  return answer
end

local now = now_ms()
-- Milliseconds stay below 2^53, so a score is exact and is returned as an integer.
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
