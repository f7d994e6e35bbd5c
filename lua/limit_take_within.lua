#!lua
--[[
limit_take_within.lua - let one member of a group do one thing once more, where the group may, too (GCRA).

KEYS[1]  limit        STRING  due_ms: when all that the member did will have taken its time  rp:limit:{<limit>:<group>}:<subject>
KEYS[2]  group_limit  STRING  due_ms of the group                                            rp:limit:{<limit>:<group>}
ARGV[1]  interval_ms        the time that one takes of the member's
ARGV[2]  burst              how many a member may do at once
ARGV[3]  group_interval_ms  the time that one takes of the group's
ARGV[4]  group_burst        how many the group may do at once
ARGV[5]  is_spent           1 where it uses up one of the group's; 0 where the group must only have one left

Returns one string; the first status that applies wins:
  refused <retry_after_ms>  too fast, or the group has none left: nothing is counted
  accepted

Why a script: many at once must not all find the group's last one. Whether *is_spent* is not told by the answer.
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
-- Not "..": that writes 14 digits and more as a power of ten.
redis.call('SET', limit_key, string.format('%.0f', due_ms), 'PX', due_ms - now)
if is_spent then
  redis.call('SET', group_key, string.format('%.0f', group_due_ms), 'PX', string.format('%.0f', group_due_ms - now))
end
return 'accepted'
