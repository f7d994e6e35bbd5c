#!lua
--[[
packet_load.lua - update one packet's hash from the ledger; a repeated call is harmless.

KEYS[1]  packet  HASH  "#" -> state (lib/state), user_id -> share_no  rp:4{<packet_id>}
ARGV[1]  keep_until_ms  when the key expires; at least ten minutes from now
ARGV[2]  letter         of the state (lib/state); "" only adds users, and another call follows
ARGV[3]  head           of the state: when the packet opens, its count, MAC and terms
ARGV[4]  durable_no     highest share number that is claimed or refunded
ARGV[5]  free           lower numbers that are neither claimed nor refunded, separated by commas
ARGV[6]  proof          "sent": the packet was just sent and has no claims. "told <life> <users>":
                        the loads since <life> began added all claimers; "-" if this call adds all
ARGV[7]  user_id, share_no, and so on in pairs: durable claims

Returns one string:
  loaded <life>  of the server (lib/life)

Why a script: claims run concurrently. The script only adds data: a number that was handed out stays
handed out, and a closed packet stays closed.
]]
local packet_key = KEYS[1]
local letter = ARGV[2]
local head = ARGV[3]
local durable_no = tonumber(ARGV[4])
local proof = ARGV[6]

-- @include lib/life
-- @include lib/now_ms
-- @include lib/state
local now_life = life()
local old = redis.call('HGET', packet_key, '#')
local packet
if old then
  packet = read_state(old, redis.call('HLEN', packet_key))
elseif letter ~= '' then
  redis.call('HSET', packet_key, '#', '')
  packet = read_state(letter .. head, 1)
  if packet.count > 128 then
    -- Redis searches a packed hash linearly. One long value converts the hash to a table permanently.
    redis.call('HSET', packet_key, '-', string.rep('-', 65))
    redis.call('HDEL', packet_key, '-')
  end
end
for i = 7, #ARGV, 2 do
  redis.call('HSETNX', packet_key, ARGV[i], ARGV[i + 1])
end

-- Keep a packet that ended long ago for ten minutes, so that users with a share get an answer. A call that only
-- adds a user may name an earlier expiry than the key already has; GT keeps the later one.
local until_ms = math.max(tonumber(ARGV[1]), now_ms() + 600000)
local left_ms = redis.call('PTTL', packet_key)
redis.call('PEXPIREAT', packet_key, until_ms, 'NX')
redis.call('PEXPIREAT', packet_key, until_ms, 'GT')

if packet then
  -- <offered_ms> is a remaining life of the key, so it grows with the key's life.
  if packet.offered_ms ~= '' then
    packet.offered_ms = packet.offered_ms + redis.call('PTTL', packet_key) - left_ms
  end
  for share_no in string.gmatch(ARGV[5], '%d+') do
    -- A number up to given_no is already handed out, but its claim is not yet durable.
    if tonumber(share_no) > packet.given_no then
      reassign(packet, share_no)
    end
  end
  packet.given_no = math.max(packet.given_no, durable_no)
  if letter == 'C' then
    packet.letter = 'C'
  end
  local field_count = redis.call('HLEN', packet_key)
  local told_life, user_count = string.match(proof, '^told (%S+) (%d+)$')
  if proof == 'sent' and not old and now_life ~= '' then
    sign(packet, '@' .. now_life)
  elseif told_life and field_count > tonumber(user_count) and (told_life == '-' or told_life == now_life) then
    sign(packet, '*')
  end
  redis.call('HSET', packet_key, '#', write_state(packet, field_count))
end
return 'loaded ' .. now_life
