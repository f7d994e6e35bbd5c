#!lua
--[[
packet_load.lua - bring one packet's hash up to what the ledger knows; repeating it is harmless.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:{<packet_id>}
ARGV[1]  keep_until_ms  when the key may be forgotten
ARGV[2]  status         "O" open, "E" emptied, "C" closed; "" brings users only, more to follow
ARGV[3]  window_and_count  starts_at_ms, expires_at_ms, count: 13, 13 and 7 digits
ARGV[4]  terms          canonical form, for the winners' amounts
ARGV[5]  durable_no     highest share number that has a fate
ARGV[6]  free           numbers below it that have none, with commas
ARGV[7]  user_id, share_no, and so on in pairs: claims that are durable

Returns:
  loaded

Why a script: claims go on meanwhile. It adds what is missing and takes nothing back: a number that
is handed out stays handed out, a closed packet stays closed.
]]
local packet_key = KEYS[1]
local keep_until_ms = ARGV[1]
local status = ARGV[2]
local window_and_count = ARGV[3]
local terms = ARGV[4]
local durable_no = tonumber(ARGV[5])
local free = ARGV[6]

-- @include lib/state
local old = redis.call('HGET', packet_key, '#')
local packet = {
  window_and_count = window_and_count,
  count = tonumber(string.sub(window_and_count, 27, 33)),
  given_no = 0,
  returned = '',
  terms = terms,
}
if old == 'E' then
  packet.given_no = packet.count
elseif old and old ~= 'C' then
  packet = read_state(old, redis.call('HLEN', packet_key))
end

for i = 7, #ARGV, 2 do
  redis.call('HSETNX', packet_key, ARGV[i], ARGV[i + 1])
end
if status ~= '' then
  for share_no in string.gmatch(free, '%d+') do
    -- A lower one is in somebody's hands, on its way to the ledger.
    if tonumber(share_no) > packet.given_no then
      give_back(packet, share_no)
    end
  end
  packet.given_no = math.max(packet.given_no, durable_no)
end

if old == 'C' or status == 'C' then
  redis.call('HSET', packet_key, '#', 'C')
elseif status == 'E' then
  redis.call('HSET', packet_key, '#', 'E')
elseif old or status ~= '' then
  local field_count = redis.call('HLEN', packet_key) + (old and 0 or 1)
  redis.call('HSET', packet_key, '#', write_state(packet, field_count))
end
redis.call('PEXPIREAT', packet_key, keep_until_ms)
return 'loaded'
