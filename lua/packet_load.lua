#!lua
--[[
packet_load.lua - bring one packet's hash up to what the ledger knows; repeating it is harmless.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:2{<packet_id>}
ARGV[1]  keep_until_ms  when the key may be forgotten, but not within ten minutes from now
ARGV[2]  letter         of the state (lib/state); "" brings users only, more to follow
ARGV[3]  head           of the state: when it opens, the count, the terms for the winners' amounts
ARGV[4]  durable_no     highest share number that has a fate
ARGV[5]  free           numbers below it that have none, with commas
ARGV[6]  user_id, share_no, and so on in pairs: claims that are durable

Returns:
  loaded

Why a script: claims go on meanwhile. It adds what is missing and takes nothing back: a number that
is handed out stays handed out, a closed packet stays closed.
]]
local packet_key = KEYS[1]
local keep_until_ms = tonumber(ARGV[1])
local letter = ARGV[2]
local head = ARGV[3]
local durable_no = tonumber(ARGV[4])
local free = ARGV[5]

-- @include lib/now_ms
-- @include lib/state
local old = redis.call('HGET', packet_key, '#')
local packet
if old then
  packet = read_state(old, redis.call('HLEN', packet_key))
elseif letter ~= '' then
  redis.call('HSET', packet_key, '#', '')
  packet = read_state(letter .. head, 1)
  if packet.count > 128 then
    -- A packed hash is searched from end to end. One long value unpacks it for good.
    redis.call('HSET', packet_key, '-', string.rep('-', 65))
    redis.call('HDEL', packet_key, '-')
  end
end
for i = 6, #ARGV, 2 do
  redis.call('HSETNX', packet_key, ARGV[i], ARGV[i + 1])
end

if packet then
  for share_no in string.gmatch(free, '%d+') do
    -- A lower one is in somebody's hands, on its way to the ledger.
    if tonumber(share_no) > packet.given_no then
      give_back(packet, share_no)
    end
  end
  packet.given_no = math.max(packet.given_no, durable_no)
  if letter == 'C' then
    packet.letter = 'C'
  end
  redis.call('HSET', packet_key, '#', write_state(packet, redis.call('HLEN', packet_key)))
end
-- A packet that ended long ago must outlive this load, or its owners would never get an answer. And
-- whoever brings a user to a part doesn't know until when it is kept already.
local until_ms = math.max(keep_until_ms, now_ms() + 600000)
redis.call('PEXPIREAT', packet_key, until_ms, 'NX')
redis.call('PEXPIREAT', packet_key, until_ms, 'GT')
return 'loaded'
