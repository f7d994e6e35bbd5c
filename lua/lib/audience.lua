-- One part of a campaign's list of users: a hash with a field for each user, and "#" once the part is complete.
-- A part without "#" is not loaded. A hash needs no commands beyond those that the cache's users may call.
local function is_loaded(members_key)
  return redis.call('HEXISTS', members_key, '#') == 1
end
