#!lua
--[[
packet_certain.lua - tell whether a packet's hash has every taker who was ever told a share.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:2{<packet_id>}

Returns; the first status that applies wins:
  certain    whom it does not have owns nothing: a refusal needs no look at the ledger
  uncertain  it may have lost the end of its memory in a failover, or was loaded during claims

Why a script: the sign and the server that it is compared with must be of the same moment.
]]
local packet_key = KEYS[1]

-- @include lib/life
local state = redis.call('HGET', packet_key, '#')
local mark = state and string.match(state, '^[^|@*]*([@*][^|]*)')
if mark == '*' or mark == '@' .. life() then
  return 'certain'
end
return 'uncertain'
