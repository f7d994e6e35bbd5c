#!lua
--[[
packet_grab.lua - hand one share number of a packet to one user, the same one whenever they ask.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:2{<packet_id>}
ARGV[1]  user_id

Returns one string; the first status that applies wins:
  already_claimed <share_no> [last]  same user again, same number
  packet_not_loaded                  never loaded, or forgotten: load it and ask again
  packet_emptied                     every number is handed out
  packet_expired
  packet_not_started
  claimed <share_no> [last]
"last" follows where the packet is emptied.

Why a script: the check for the user and the next number must not interleave.
What it costs is counted in calls (docs/adr/0002-one-hash-per-packet.md): a winner four, a loser two.
]]
local packet_key = KEYS[1]
local user_id = ARGV[1]

-- @include lib/open
local share_no = redis.call('HLEN', packet_key) + offset
local count = tonumber(string.sub(state, 10, 13), 36)
local is_last = share_no == count and returned == ''
local rest
if share_no > count then
  -- Only numbers that somebody gave back are left, or the packet would be emptied.
  share_no, rest = string.match(returned, '^,(%d+)(.*)$')
  is_last = rest == ''
  state = string.sub(state, 1, -1 - #returned) .. rest
end
if redis.call('HSETNX', packet_key, user_id, share_no) == 0 then
  return or_owned()
end
if is_last then
  redis.call('HSET', packet_key, '#', 'E' .. string.sub(state, 2))
  return 'claimed ' .. share_no .. ' last'
elseif rest then
  redis.call('HSET', packet_key, '#', state)
end
return 'claimed ' .. share_no
