-- Returns four characters that change when the server restarts or a replica is promoted, or "" if the server,
-- such as a serverless cache, does not report its ids.
local function life()
  local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  local run_id = type(server) == 'string' and string.match(server, 'run_id:(%x+)')
  local replid = type(replication) == 'string' and string.match(replication, 'master_replid:(%x+)')
  if not run_id or not replid then
    return ''
  end
  local digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_'
  local hash = redis.sha1hex(run_id .. replid)
  return (string.gsub(string.sub(hash, 1, 8), '..', function(pair)
    local place = tonumber(pair, 16) % 64 + 1
    return string.sub(digits, place, place)
  end))
end
