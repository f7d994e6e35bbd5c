#!lua
--[[
audience_load.lua - add users to one part of a campaign's list, which begins or ends with this call.

KEYS[1]  members  HASH    user_id -> "", "#" -> "" once it is whole  rp:{audience:<campaign_id>:<bucket>}
KEYS[2]  loading  STRING  turn of the caller who loads it            rp:{audience:<campaign_id>:<bucket>}:loading
ARGV[1]  turn
ARGV[2]  life_ms   how long the part lives
ARGV[3]  is_first  "1": first removes all users
ARGV[4]  is_last   "1": the part is complete after this call
ARGV[5]  user_id, and so on

Returns; the first status that applies wins:
  superseded  the turn is over, or an edit came in between: what the caller has read may be old
  loaded

Why a script: an edit between two calls of a load ends the turn, so that no part is older than an edit.
]]
local members_key = KEYS[1]
local loading_key = KEYS[2]
local turn = ARGV[1]
local life_ms = ARGV[2]
local is_first = ARGV[3] == '1'
local is_last = ARGV[4] == '1'

if redis.call('GET', loading_key) ~= turn then
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
