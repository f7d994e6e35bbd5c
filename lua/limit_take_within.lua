#!lua
--[[
limit_take_within.lua - count one more action by a group's member, if the group's limit also allows it (GCRA).

KEYS[1]  limit        STRING  due_ms: when the member's whole burst is available again  rp:limit:{<limit>:<group>}:<subject>
KEYS[2]  group_limit  STRING  due_ms of the group                                       rp:limit:{<limit>:<group>}
ARGV[1]  interval_ms        the time for one action by the member
ARGV[2]  burst              how many actions by the member are allowed at once
ARGV[3]  group_interval_ms  the time for one action by the group
ARGV[4]  group_burst        how many actions by the group are allowed at once
ARGV[5]  is_spent           1: also count the action for the group; 0: only require that the group has an action left

Returns one string with the first of these statuses that applies:
  refused <retry_after_ms>  too fast, or the group's limit is used up: nothing is counted
  accepted

Why a script: concurrent calls must not all take the group's last place. The answer does not reveal *is_spent*.
]]
local limit_key = KEYS[1]
local group_key = KEYS[2]
local interval_ms, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local group_interval_ms, group_burst = tonumber(ARGV[3]), tonumber(ARGV[4])
local is_spent = ARGV[5] == '1'

-- @include lib/now_ms
local now = now_ms()
local due_ms = math.max(now, tonumber(redis.call('GET', limit_key) or 0)) + interval_ms
local group_due_ms = math.max(now, tonumber(redis.call('GET', group_key) or 0)) + group_interval_ms
local wait_ms = math.max(due_ms - now - burst * interval_ms, group_due_ms - now - group_burst * group_interval_ms)
if wait_ms > 0 then
  return 'refused ' .. wait_ms
end
-- Avoid "..", which rounds numbers to 14 significant digits.
redis.call('SET', limit_key, string.format('%.0f', due_ms), 'PX', due_ms - now)
if is_spent then
  redis.call('SET', group_key, string.format('%.0f', group_due_ms), 'PX', string.format('%.0f', group_due_ms - now))
end
return 'accepted'
