-- Returns the share that *user_id* already has, or *refusal*. *note* is appended to the share's number.
-- Scripts call this function only if the result matters, because most users have no share.
local function or_owned(packet_key, user_id, refusal, note)
  local owned_no = redis.call('HGET', packet_key, user_id)
  if owned_no then
    return 'already_claimed ' .. owned_no .. (note or '')
  end
  return refusal
end

-- Returns the answer to *user_id* if the packet is not open; otherwise nil, the state (lib/state), and the
-- state's offset and returned numbers.
local function check_open(packet_key, user_id)
  local state = redis.call('HGET', packet_key, '#')
  if not state then
    return or_owned(packet_key, user_id, 'packet_not_loaded')
  end
  local letter = string.sub(state, 1, 1)
  if letter == 'E' then
    return or_owned(packet_key, user_id, 'packet_emptied', ' last')
  elseif letter == 'C' then
    return or_owned(packet_key, user_id, 'packet_expired')
  end

  local left_ms = redis.call('PTTL', packet_key)
  if left_ms <= 86400000 then
    return or_owned(packet_key, user_id, 'packet_expired')
  elseif left_ms > tonumber(string.sub(state, 2, 9), 36) then
    return or_owned(packet_key, user_id, 'packet_not_started')
  elseif letter ~= 'R' then
    return nil, state, 0, ''
  end

  local offset, offered_ms, returned = string.match(state, '|([^,]*),([^,]*)(.*)$')
  if offered_ms ~= '' and left_ms > tonumber(offered_ms) then
    -- The packet was emptied, and a number was returned less than a second ago (packet_amend).
    return or_owned(packet_key, user_id, 'packet_emptied')
  end
  return nil, state, offset, returned
end
