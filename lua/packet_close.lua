#!lua flags=allow-oom
--[[
packet_close.lua - close a packet: after this call, only owners get their shares.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:4{<packet_id>}

Returns the first of these statuses that applies:
  packet_not_loaded  no hash to close; a later load reads "closing" from the ledger
  already_closed     or emptied: no number is left. If a number is returned later, the hash offers the
                     number again, and the ledger refuses the claim
  closed

Why a script: a packet that is emptied concurrently must stay emptied.
The script also runs when memory is full, because it changes one letter.
]]
local packet_key = KEYS[1]

local state = redis.call('HGET', packet_key, '#')
if not state then
  return 'packet_not_loaded'
elseif string.match(state, '^[EC]') then
  return 'already_closed'
end
redis.call('HSET', packet_key, '#', 'C' .. string.sub(state, 2))
return 'closed'
