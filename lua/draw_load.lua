#!lua
--[[
draw_load.lua - update a lottery from the ledger; a repeated call is harmless.

KEYS[1]  lottery  HASH  "#" -> rules (lib/lottery_rules), "=" -> prizes in the odds, prize_id -> prize (lib/prize)  rp:{draw:<campaign_id>}
KEYS[2]  day      HASH  "n:" prize -> its units of the day (lib/stock), and more  rp:{draw:<campaign_id>}:<day>
KEYS[3]  winners  HASH  user_id -> ",", then each once-only prize that the user won and ","  rp:{draw:<campaign_id>}:winners
ARGV[1]  keep_until_ms  when the lottery expires; at least ten minutes from now
ARGV[2]  day_keep_until_ms
ARGV[3]  rules    (lib/lottery_rules) without version and revision
ARGV[4]  version  of the campaign and its prizes
ARGV[5]  prizes   ids of the prizes that are switched on, separated by commas, with "!" after a once-only prize
ARGV[6]  prize_id, terms (lib/prize), durable_no, free, day_durable_no, day_free, and so on in sixes:
         the highest unit number with a row and the lower numbers without a row, in total and for the day

Returns:
  loaded

Why a script: draws run concurrently, and each must see one version. A version older than the cache's
changes neither rules nor terms. Issued units stay issued.
]]
local cache_key = KEYS[1]
local day_key = KEYS[2]
local winners_key = KEYS[3]
local keep_until_ms = tonumber(ARGV[1])
local day_keep_until_ms = ARGV[2]
local rules = ARGV[3]
local version = tonumber(ARGV[4])
local prizes = ARGV[5]

-- @include lib/now_ms
-- @include lib/stock
-- @include lib/lottery_rules
local now = now_ms()
local old = redis.call('HGET', cache_key, '#')
local known = old and read_rules(old) or { version = 0, revision = 0 }
local is_newer = version >= known.version
if is_newer then
  redis.call('HSET', cache_key, '=', prizes)
else
  rules = string.match(old, '^(.*),%d+,%d+$')
  version = known.version
end
-- Every load gets a new revision, even after an eviction or within the same millisecond as another load.
local revision = math.max(known.revision + 1, now)
redis.call('HSET', cache_key, '#', string.format('%s,%d,%.0f', rules, version, revision))

for i = 6, #ARGV, 6 do
  local prize_id = ARGV[i]
  local terms, units = string.match(redis.call('HGET', cache_key, prize_id) or '', '^(.*);(.*)$')
  local stock = read_stock(units)
  raise_stock(stock, tonumber(ARGV[i + 2]), ARGV[i + 3])
  if is_newer or not terms then
    terms = ARGV[i + 1]
  end
  redis.call('HSET', cache_key, prize_id, terms .. ';' .. write_stock(stock))
  local today = read_stock(redis.call('HGET', day_key, 'n:' .. prize_id))
  raise_stock(today, tonumber(ARGV[i + 4]), ARGV[i + 5])
  if today.issued_no > 0 then
    redis.call('HSET', day_key, 'n:' .. prize_id, write_stock(today))
    redis.call('PEXPIREAT', day_key, day_keep_until_ms)
  end
end
-- Keep a lottery that ended long ago for ten more minutes, so that users get "ended".
keep_until_ms = math.max(keep_until_ms, now + 600000)
redis.call('PEXPIREAT', cache_key, keep_until_ms)
redis.call('PEXPIREAT', winners_key, keep_until_ms)
return 'loaded'
