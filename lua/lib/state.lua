-- A packet's hash has one field per user, and "#" for the state:
--   <letter> <opens_ms:8> <count:4> <MAC:11> <terms> [ "|" <offset> "," <offered_ms> <returned> ]
-- without the spaces; numbers of fixed width are in base 36. The letter is O (open), R (open and repaired),
-- E (emptied: all numbers are handed out) or C (closed). The key expires a day after the packet ends. Times are
-- remaining lives of the key, because PTTL returns one integer, but TIME two strings: <opens_ms> is the key's
-- remaining life at the packet's start. A campaign's packet is open as soon as it is loaded, and its key expires two
-- days after the packet ends, because functions check the window, which operators can move. The next share number
-- is HLEN + offset, so a claim is one HSETNX and needs no counter. Code that adds or removes a user in any other way
-- must correct the offset. <returned> lists returned numbers, each after a comma; they are offered once the key's
-- remaining life is at most <offered_ms>. If <returned> is empty and the offset is 0, the state has no tail.
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
    -- The highest number handed out.
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
