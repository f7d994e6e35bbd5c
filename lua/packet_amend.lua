#!lua flags=allow-oom
--[[
packet_amend.lua - replace one user's share number with the ledger's.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:4{<packet_id>}
ARGV[1]  user_id
ARGV[2]  share_no   the number that the cache gave this user by mistake
ARGV[3]  owned_no   the number that the user durably owns, which replaces *share_no*; "0" if the user owns
                    none. *share_no* is then free again. "": another user owns *share_no*, which stays taken

Returns the first of these statuses that applies:
  unchanged  the user does not have that number: this is a retry, or the key is gone
  amended

Why a script: the number of fields determines the next share number, and claims run concurrently.
The script also runs when memory is full, because it adds a few bytes at most.
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
      -- Processes cache the owners of an emptied packet for a second (packets/use_cases/cached_emptied.py), so offer
      -- the number a second later. Otherwise, a process could refuse the number's next owner.
      packet.offered_ms = redis.call('PTTL', packet_key) - 1000
    end
    reassign(packet, share_no)
  end
  redis.call('HSET', packet_key, '#', write_state(packet, redis.call('HLEN', packet_key)))
end
return 'amended'
