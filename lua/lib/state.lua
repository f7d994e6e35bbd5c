-- A packet's hash has one field per user, and "#" for the state:
--   <letter> <opens_ms:8> <count:4> <MAC:11> <terms> [ "|" <offset> "," <offered_ms> <returned> ]
-- without the spaces; numbers of fixed width are in base 36. <opens_ms> is the key's remaining life at the
-- packet's start. The letter is O open, R open and repaired, E emptied (all numbers are handed out) or C
-- closed. Times are compared with the key's remaining life, which ends a day after the packet: PTTL
-- returns one integer, TIME two strings. The key of a campaign's packet is open from its load and ends two
-- days after the packet: operators can move its window, which functions check. The next share number is HLEN +
-- offset: a claim is one HSETNX without a counter. Code that adds or removes a user in any other way must
-- correct the offset. <returned> lists returned numbers, each after a comma; they are offered once <offered_ms> of the
-- key's life are left. Without returned numbers and offset, the state has no tail.
-- The terms may end with a mark, which proves that the hash has every claimer (docs/adr/0016): "*" if the ledger
-- listed all claimers, "@" and the server's life (lib/life) if the hash has seen every claim since the send.
local function read_state(state, field_count)
  local head, tail = string.match(state, '^.([^|]*)|?(.*)$')
  local offset, offered_ms, returned = string.match(tail, '^([^,]*),([^,]*)(.*)$')
  local count = tonumber(string.sub(head, 9, 12), 36)
  return {
    letter = string.sub(state, 1, 1),
    head = head,
    count = count,
    -- Returns the highest number handed out.
    given_no = math.min(count, field_count - 1 + (tonumber(offset) or 0)),
    offered_ms = offered_ms or '',
    returned = returned or '',
  }
end

local function write_state(packet, field_count)
  local offset = packet.given_no - field_count + 1
  local has_tail = offset ~= 0 or packet.returned ~= ''
  local letter = packet.letter
  if letter ~= 'C' then
    local is_emptied = packet.given_no >= packet.count and packet.returned == ''
    letter = is_emptied and 'E' or has_tail and 'R' or 'O'
  end
  local tail = string.format('|%d,%s%s', offset, packet.offered_ms, packet.returned)
  return letter .. packet.head .. (has_tail and tail or '')
end

local function sign(packet, mark)
  packet.head = string.gsub(packet.head, '[@*].*$', '') .. mark
end

local function reassign(packet, share_no)
  packet.returned = packet.returned .. ',' .. share_no
end
