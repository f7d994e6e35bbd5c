#!lua
--[[
packet_grab.lua - hand one share number of a packet to one user, the same one whenever they ask.

KEYS[1]  packet  HASH  "#" -> state (lib/state), "=" -> terms, user_id -> share_no  rp:{<packet_id>}
ARGV[1]  user_id

Returns one string; the first status that applies wins:
  already_claimed <share_no>  same user again, same number
  packet_not_loaded           never loaded, or forgotten: load it and ask again
  packet_emptied              every number is handed out
  packet_expired
  packet_not_started
  claimed <share_no>

Why a script: the check for the user and the next number must not interleave.
What it costs is counted in calls (docs/adr/0002-one-hash-per-packet.md): a winner five, a loser two.
]]
local packet_key = KEYS[1]
local user_id = ARGV[1]

local owned_no = redis.call('HGET', packet_key, user_id)
if owned_no then
  return 'already_claimed ' .. owned_no
end
local state = redis.call('HGET', packet_key, '#')
if not state then
  return 'packet_not_loaded'
end
local letter = string.sub(state, 1, 1)
if letter == 'E' then
  return 'packet_emptied'
elseif letter == 'C' then
  return 'packet_expired'
end

-- @include lib/now_ms
local now = now_ms()
if now >= tonumber(string.sub(state, 15, 27)) then
  return 'packet_expired'
elseif now < tonumber(string.sub(state, 2, 14)) then
  if #state > 43 then
    -- It was emptied and got a number back, which is offered in a second (packet_amend).
    return 'packet_emptied'
  end
  return 'packet_not_started'
end

local count = tonumber(string.sub(state, 28, 34))
local share_no = redis.call('HLEN', packet_key) + tonumber(string.sub(state, 35, 42))
local is_last = share_no == count and #state == 43
if share_no > count then
  -- Only numbers that somebody gave back are left, or the packet would be emptied.
  local returned_no, rest = string.match(state, '^(%d+),?([%d,]*)$', 44)
  share_no = tonumber(returned_no)
  is_last = rest == ''
  state = string.sub(state, 1, 43) .. rest
  redis.call('HSET', packet_key, '#', state)
end
if is_last then
  redis.call('HSET', packet_key, '#', 'E' .. string.sub(state, 2))
end
redis.call('HSET', packet_key, user_id, share_no)
return 'claimed ' .. share_no
