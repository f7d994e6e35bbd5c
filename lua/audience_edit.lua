#!lua
--[[
audience_edit.lua - apply an edit of a campaign's list to one part of it.

KEYS[1]  members  HASH    user_id -> "", "#" -> "" once it is whole  rp:{audience:<campaign_id>:<bucket>}
KEYS[2]  loading  STRING  turn of the caller who loads it            rp:{audience:<campaign_id>:<bucket>}:loading
ARGV[1]  "+" or "-" and a user_id, and so on

Returns; the first status that applies wins:
  not_loaded  nothing is changed: the next caller loads what is durable
  edited

Why a script: it ends the turn of a load that may have read older data.
]]
local members_key = KEYS[1]
local loading_key = KEYS[2]

-- @include lib/audience
redis.call('PEXPIRE', loading_key, 0)
if not is_loaded(members_key) then
  return 'not_loaded'
end
for i = 1, #ARGV do
  local user_id = string.sub(ARGV[i], 2)
  if string.sub(ARGV[i], 1, 1) == '+' then
    redis.call('HSET', members_key, user_id, '')
  else
    redis.call('HDEL', members_key, user_id)
  end
end
return 'edited'
