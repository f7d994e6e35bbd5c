#!lua
--[[
packet_amend.lua - correct one user's share number where the ledger says otherwise.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:{<packet_id>}
ARGV[1]  user_id
ARGV[2]  share_no   the number that the user holds here by mistake
ARGV[3]  owned_no   the number that they durably own, to be set instead: *share_no* is then free
                    again. "" if they own none: *share_no* is somebody else's, and stays taken
ARGV[4]  state      as it was when *share_no* was handed out; reopens a packet emptied since

Returns; the first status that applies wins:
  unchanged  the user doesn't hold that number: a repeat, or the key is gone
  amended

Why a script: the next number is counted from the hash's fields, and claims go on meanwhile.
]]
local packet_key = KEYS[1]
local user_id = ARGV[1]
local share_no = ARGV[2]
local owned_no = ARGV[3]
local state_then = ARGV[4]

if redis.call('HGET', packet_key, user_id) ~= share_no then
  return 'unchanged'
end

-- @include lib/state
local state = redis.call('HGET', packet_key, '#')
local packet = nil
if state == 'E' and owned_no ~= '' and string.sub(state_then, 1, 1) == 'O' then
  packet = read_state(state_then, 0)
  packet.given_no = packet.count
  packet.returned = ''
elseif state and state ~= 'E' and state ~= 'C' then
  packet = read_state(state, redis.call('HLEN', packet_key))
end

if owned_no == '' then
  redis.call('HDEL', packet_key, user_id)
else
  redis.call('HSET', packet_key, user_id, owned_no)
end
if packet then
  if owned_no ~= '' then
    give_back(packet, share_no)
  end
  redis.call('HSET', packet_key, '#', write_state(packet, redis.call('HLEN', packet_key)))
end
return 'amended'
