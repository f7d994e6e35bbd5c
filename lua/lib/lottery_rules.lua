-- The rules of a lottery, in the field "#" of its hash:
--   <O open or P paused> <starts_at_ms:13> <ends_at_ms:13> "," <attempts_max> "," <wins_max> ","
--   <guaranteed_after> "," <miss_weight> "," <M if a miss gets the weight of sold-out prizes, else R>
--   "," <1 if some prize is once-only, else 0> "," <version> "," <revision>
-- without the spaces; 0 turns a limit or the guarantee off. The version comes from the ledger. The revision rises
-- with every change of the odds that all users share, so that no day uses old odds.
local function read_rules(text)
  local attempts_max, wins_max, guaranteed_after, miss_weight, letter, has_once, version, revision =
    string.match(text, '^,(%d+),(%d+),(%d+),(%d+),(%a),(%d),(%d+),(%d+)$', 28)
  return {
    starts_at_ms = tonumber(string.sub(text, 2, 14)),
    ends_at_ms = tonumber(string.sub(text, 15, 27)),
    attempts_max = tonumber(attempts_max),
    wins_max = tonumber(wins_max),
    guaranteed_after = tonumber(guaranteed_after),
    miss_weight = tonumber(miss_weight),
    misses_take_weight = letter == 'M',
    has_once = has_once == '1',
    version = tonumber(version),
    revision = revision,
  }
end

local function raise_revision(cache_key)
  local kept, revision = string.match(redis.call('HGET', cache_key, '#'), '^(.*,)(%d+)$')
  redis.call('HSET', cache_key, '#', string.format('%s%.0f', kept, revision + 1))
end

-- Returns the hour since the campaign's start, counted from 1.
local function hour_of(rules, now)
  return math.floor((now - rules.starts_at_ms) / 3600000) + 1
end
