-- One part of a campaign's list of users: a hash with a field for each user, and "#" once all are in it. A part
-- without "#" is not loaded. It is a hash, so that the cache's users need no right to other commands.
local function is_loaded(members_key)
  return redis.call('HEXISTS', members_key, '#') == 1
end
