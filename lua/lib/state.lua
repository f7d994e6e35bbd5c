-- A packet's state is one field of its hash, "#":
--   "E"  emptied: every number is handed out
--   "C"  closed: expired, whatever is left
--   "O" <starts_at_ms:13> <expires_at_ms:13> <count:7> <offset:8> "|" <returned> "|" <terms>
-- without the spaces. The next share number is HLEN + offset: users are the hash's other fields, so
-- handing out a number is one HSET and no counter. Whoever adds or removes a user in another way
-- corrects the offset. <returned> lists numbers that were given back, with commas.
local function read_state(state, field_count)
  local count = tonumber(string.sub(state, 28, 34))
  local offset = tonumber(string.sub(state, 35, 42))
  local returned, terms = string.match(state, '^([^|]*)|(.*)$', 44)
  return {
    window_and_count = string.sub(state, 2, 34),
    count = count,
    -- The highest number handed out.
    given_no = math.min(count, field_count - 1 + offset),
    returned = returned,
    terms = terms,
  }
end

-- *field_count* counts the hash's fields, the state's own among them.
local function write_state(packet, field_count)
  if packet.given_no >= packet.count and packet.returned == '' then
    return 'E'
  end
  return string.format('O%s%+08d|%s|%s', packet.window_and_count,
    packet.given_no - field_count + 1, packet.returned, packet.terms)
end

local function give_back(packet, share_no)
  packet.returned = packet.returned == '' and share_no or (packet.returned .. ',' .. share_no)
end
