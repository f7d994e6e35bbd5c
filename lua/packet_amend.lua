#!lua flags=allow-oom
--[[
packet_amend.lua - correct one user's share number to the ledger's.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:4{<packet_id>}
ARGV[1]  user_id
ARGV[2]  share_no   the number that the cache gave this user by mistake
ARGV[3]  owned_no   the number that they durably own, to be set instead, or "0" if they own none: *share_no*
                    is then free again. "": another user owns *share_no*, and it stays taken

Returns; the first status that applies wins:
  unchanged  the user does not have that number: a repeat, or the key is gone
  amended

Why a script: the next number is counted from the hash's fields, and claims run concurrently.
Also runs when memory is full: it adds a few bytes at most.
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
    -- The ledger has a claim that this hash lacks, so the hash may also lack other claimers.
    packet.head = string.gsub(packet.head, '@.*$', '')
  end
  if owned_no ~= '' then
    if packet.letter == 'E' then
      -- Processes cache the owners of an emptied packet for a second (packets/use_cases/cached_emptied.py). The next
      -- owner of this number must not be refused by such a cache.
      packet.offered_ms = redis.call('PTTL', packet_key) - 1000
    end
    reassign(packet, share_no)
  end
  redis.call('HSET', packet_key, '#', write_state(packet, redis.call('HLEN', packet_key)))
end
return 'amended'
