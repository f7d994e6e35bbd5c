#!lua
--[[
packet_certain.lua - check whether a packet's hash contains every user with a share.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:4{<packet_id>}

Returns the first of these statuses that applies:
  certain    a user who is not in the hash has no share, so a refusal needs no ledger read
  uncertain  the hash may have lost its newest claims in a failover, or was loaded during claims

Why a script: the mark and the server's ids must be read together.
]]
local packet_key = KEYS[1]

-- @include lib/life
local state = redis.call('HGET', packet_key, '#')
local mark = state and string.match(state, '^[^|@*]*([@*][^|]*)')
if mark == '*' or mark == '@' .. life() then
  return 'certain'
end
return 'uncertain'
