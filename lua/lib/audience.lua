-- One part of a campaign's list of users: a hash with a field per user, and "#" once the part is complete.
-- A part without "#" is not loaded. Parts are not sets, because the cache's users may not call set commands.
local function is_loaded(members_key)
  return redis.call('HEXISTS', members_key, '#') == 1
end
