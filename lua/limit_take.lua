#!lua
--[[
limit_take.lua - let one subject do one thing once more, or say when they may (GCRA).

KEYS[1]  limit  STRING  due_ms: when all that was done will have taken its time  rp:limit:{<limit>:<subject>}
ARGV[1]  interval_ms  the time that one takes
ARGV[2]  burst        how many may be done at once

Returns one string; the first status that applies wins:
  refused <retry_after_ms>  too fast: nothing is counted
  accepted

Why a script: two at once must not both take the last one. The key is gone once its time is over.
]]
local limit_key = KEYS[1]
local interval_ms = tonumber(ARGV[1])
local burst = tonumber(ARGV[2])

-- @include lib/now_ms
local now = now_ms()
local due_ms = math.max(now, tonumber(redis.call('GET', limit_key) or 0)) + interval_ms
local wait_ms = due_ms - now - burst * interval_ms
if wait_ms > 0 then
  return 'refused ' .. wait_ms
end
-- Not "..": that writes 14 digits and more as a power of ten.
redis.call('SET', limit_key, string.format('%.0f', due_ms), 'PX', due_ms - now)
return 'accepted'
