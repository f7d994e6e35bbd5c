-- One part of a campaign's list of users: a hash with a field for each user, and "#" once all are in it. A part
-- without "#" is not loaded. A hash: the users of the cache need no right to more commands for it.
local function is_loaded(members_key)
  return redis.call('HEXISTS', members_key, '#') == 1
end
