#!lua
--[[
limit_take.lua - count one more action by a subject, or return how long the subject must wait (GCRA).

KEYS[1]  limit  STRING  due_ms: when the whole burst is available again  rp:limit:{<limit>:<subject>}
ARGV[1]  interval_ms  the time for one action
ARGV[2]  burst        how many actions are allowed at once

Returns one string with the first of these statuses that applies:
  refused <retry_after_ms>  too fast: nothing is counted
  accepted

Why a script: two concurrent calls must not both take the last place. The key expires at due_ms.
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
-- Avoid "..", which rounds numbers to 14 significant digits.
redis.call('SET', limit_key, string.format('%.0f', due_ms), 'PX', due_ms - now)
return 'accepted'
