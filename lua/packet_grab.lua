#!lua
--[[
packet_grab.lua - give one user one share number of a packet; every retry returns the same number.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:4{<packet_id>}
ARGV[1]  user_id

Returns one string with the first of these statuses that applies:
  already_claimed <share_no> [last]  a retry: the user keeps the number
  packet_not_loaded                  never loaded, or evicted: load it and try again
  packet_emptied                     all numbers are handed out
  packet_expired
  packet_not_started
  claimed <share_no> [last]
"last" follows if the packet is emptied.

Why a script: no other claim may run between the check for the user and the new number.
The number of calls determines the cost (docs/adr/0002-one-hash-per-packet.md): four for a winner, two for a loser.
]]
local packet_key = KEYS[1]
local user_id = ARGV[1]

-- @include lib/open
local answer, state, offset, returned = check_open(packet_key, user_id)
if answer then
  return answer
end

local share_no = redis.call('HLEN', packet_key) + offset
local count = tonumber(string.sub(state, 10, 13), 36)
local is_last = share_no == count and returned == ''
local rest
if share_no > count then
  -- Only returned numbers are left; without them, the packet would be in state E.
  share_no, rest = string.match(returned, '^,(%d+)(.*)$')
  is_last = rest == ''
  state = string.sub(state, 1, -1 - #returned) .. rest
end
if redis.call('HSETNX', packet_key, user_id, share_no) == 0 then
  return or_owned(packet_key, user_id)
end
if is_last then
  redis.call('HSET', packet_key, '#', 'E' .. string.sub(state, 2))
  return 'claimed ' .. share_no .. ' last'
elseif rest then
  redis.call('HSET', packet_key, '#', state)
end
return 'claimed ' .. share_no
