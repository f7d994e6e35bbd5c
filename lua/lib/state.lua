-- A packet's hash has two fields of its own beside its users, "=" the terms and "#" the state:
--   <letter> <starts_at_ms:13> <expires_at_ms:13> <count:7> <offset:8> "|" <returned>
-- without the spaces. The letter is O open, E emptied (every number is handed out) or C closed. The
-- next share number is HLEN + offset: handing one out is one HSET and no counter, and whoever adds or
-- removes a user in another way corrects the offset. <returned> lists numbers that were given back,
-- with commas.
local function read_state(state, field_count)
  local count = tonumber(string.sub(state, 28, 34))
  local offset = tonumber(string.sub(state, 35, 42))
  return {
    letter = string.sub(state, 1, 1),
    window_and_count = string.sub(state, 2, 34),
    count = count,
    -- The highest number handed out.
    given_no = math.min(count, field_count - 1 + offset),
    returned = string.sub(state, 44),
  }
end

local function write_state(packet, field_count)
  local letter = packet.letter
  if letter ~= 'C' then
    letter = packet.given_no >= packet.count and packet.returned == '' and 'E' or 'O'
  end
  return string.format('%s%s%+08d|%s', letter, packet.window_and_count,
    packet.given_no - field_count + 1, packet.returned)
end

local function give_back(packet, share_no)
  packet.returned = packet.returned == '' and share_no or (packet.returned .. ',' .. share_no)
end
