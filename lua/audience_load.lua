#!lua
--[[
audience_load.lua - add users to one part of a campaign's list, as the first, middle or last call of a load.

KEYS[1]  members  HASH    user_id -> "", "#" -> "" once complete     rp:{audience:<campaign_id>:<bucket>}
KEYS[2]  loading  STRING  token of the caller that loads the part    rp:{audience:<campaign_id>:<bucket>}:loading
ARGV[1]  token
ARGV[2]  life_ms   how long the part stays in the cache
ARGV[3]  is_first  "1": first removes all users
ARGV[4]  is_last   "1": the part is complete after this call
ARGV[5]  user_id, and so on

Returns the first of these statuses that applies:
  superseded  another load, an edit or the token's expiry ended this load: the caller's data may be stale
  loaded

Why a script: an edit between two calls must end the load, because the load could overwrite the edit.
]]
local members_key = KEYS[1]
local loading_key = KEYS[2]
local token = ARGV[1]
local life_ms = ARGV[2]
local is_first = ARGV[3] == '1'
local is_last = ARGV[4] == '1'

if redis.call('GET', loading_key) ~= token then
  return 'superseded'
end
if is_first then
  redis.call('PEXPIRE', members_key, 0)
end
for i = 5, #ARGV do
  redis.call('HSET', members_key, ARGV[i], '')
end
if is_last then
  redis.call('HSET', members_key, '#', '')
  redis.call('PEXPIRE', loading_key, 0)
end
redis.call('PEXPIRE', members_key, life_ms)
return 'loaded'
