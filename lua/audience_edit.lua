#!lua
--[[
audience_edit.lua - apply an edit to one part of a campaign's list.

KEYS[1]  members  HASH    user_id -> "", "#" -> "" once complete     rp:{audience:<campaign_id>:<bucket>}
KEYS[2]  loading  STRING  token of the caller that loads the part    rp:{audience:<campaign_id>:<bucket>}:loading
ARGV[1]  "+" or "-" and a user_id, and so on

Returns the first of these statuses that applies:
  not_loaded  nothing changes: the next caller loads the edited list from the ledger
  edited

Why a script: the edit must also invalidate a concurrent load that may have read older data.
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
