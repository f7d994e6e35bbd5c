#!lua flags=allow-oom
--[[
packet_amend.lua - correct one user's share number where the ledger says otherwise.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:2{<packet_id>}
ARGV[1]  user_id
ARGV[2]  share_no   the number that the user holds here by mistake
ARGV[3]  owned_no   the number that they durably own, to be set instead, and "0" if they own none:
                    *share_no* is then free again. "": it is somebody else's, and stays taken

Returns; the first status that applies wins:
  unchanged  the user doesn't hold that number: a repeat, or the key is gone
  amended

Why a script: the next number is counted from the hash's fields, and claims go on meanwhile.
Runs where memory is full, too: it adds a few bytes at the most.
]]
local packet_key = KEYS[1]
local user_id = ARGV[1]
local share_no = ARGV[2]
local owned_no = ARGV[3]

if redis.call('HGET', packet_key, user_id) ~= share_no then
  return 'unchanged'
end

-- @include lib/state
local state = redis.call('HGET', packet_key, '#')
local packet = state and read_state(state, redis.call('HLEN', packet_key))
if owned_no == '' or owned_no == '0' then
  redis.call('HDEL', packet_key, user_id)
else
  redis.call('HSET', packet_key, user_id, owned_no)
end
if packet then
  if owned_no ~= '0' then
    -- The ledger knew a claim that this hash did not see: it can't vouch for all takers any more.
    packet.head = string.gsub(packet.head, '@.*$', '')
  end
  if owned_no ~= '' then
    if packet.letter == 'E' then
      -- Processes remember for a second who emptied a packet (flows/packets/cached_emptied.py): whoever gets
      -- the number must not meet such a memory.
      packet.offered_ms = redis.call('PTTL', packet_key) - 1000
    end
    reassign(packet, share_no)
  end
  redis.call('HSET', packet_key, '#', write_state(packet, redis.call('HLEN', packet_key)))
end
return 'amended'
