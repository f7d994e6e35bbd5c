#!lua
--[[
quota_reserve.lua - reserve one share of a user's quota in a campaign, if the user is in its audience.

KEYS[1]  quota    HASH  packet_id -> "", "*" -> claims that the ledger counted  rp:{audience:<campaign_id>:<bucket>}:<user_id>
KEYS[2]  members  HASH  user_id -> "", "#" -> "" once complete                   rp:{audience:<campaign_id>:<bucket>}
ARGV[1]  packet_id      the share's packet
ARGV[2]  count_max      how many shares the user may take
ARGV[3]  life_ms        how long the key stays in the cache
ARGV[4]  claimed_count  the ledger's count now; "" if it was not read
ARGV[5]  user_id
ARGV[6]  audience_mode  "allow" or "deny"; "" if the campaign does not use its list

Returns the first of these statuses that applies:
  audience_not_loaded  never loaded, or evicted: load it and try again
  not_in_audience
  exhausted  the ledger has count_max claims, and claims never become fewer
  full       count_max packets are reserved, but some may not become claims
  reserved   for this packet, by this call or an earlier one

Why a script: concurrent calls must not all take the last place.
]]
local quota_key = KEYS[1]
local members_key = KEYS[2]
local packet_id = ARGV[1]
local count_max = tonumber(ARGV[2])
local life_ms = ARGV[3]
local claimed_count = ARGV[4]
local user_id = ARGV[5]
local audience_mode = ARGV[6]

-- @include lib/audience
if audience_mode ~= '' then
  if not is_loaded(members_key) then
    return 'audience_not_loaded'
  end
  local is_member = redis.call('HEXISTS', members_key, user_id) == 1
  if is_member ~= (audience_mode == 'allow') then
    return 'not_in_audience'
  end
end
if claimed_count ~= '' then
  redis.call('HSET', quota_key, '*', claimed_count)
  redis.call('PEXPIRE', quota_key, life_ms)
end
local known_count = redis.call('HGET', quota_key, '*')
if known_count and tonumber(known_count) >= count_max then
  return 'exhausted'
end

if redis.call('HEXISTS', quota_key, packet_id) == 0 then
  local reserved_count = redis.call('HLEN', quota_key) - redis.call('HEXISTS', quota_key, '*')
  if reserved_count >= count_max then
    return 'full'
  end
  redis.call('HSET', quota_key, packet_id, '')
  redis.call('PEXPIRE', quota_key, life_ms)
end
return 'reserved'
