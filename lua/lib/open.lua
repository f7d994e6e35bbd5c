-- Goes on only where the packet is open (lib/state), for *user_id* who may have a share of it already:
-- that is looked up where it matters, since most who come this far have none. *note* follows their number.
local function or_owned(refusal, note)
  local owned_no = redis.call('HGET', packet_key, user_id)
  if owned_no then
    return 'already_claimed ' .. owned_no .. (note or '')
  end
  return refusal
end

local state = redis.call('HGET', packet_key, '#')
if not state then
  return or_owned('packet_not_loaded')
end
local letter = string.sub(state, 1, 1)
if letter == 'E' then
  return or_owned('packet_emptied', ' last')
elseif letter == 'C' then
  return or_owned('packet_expired')
end

local left_ms = redis.call('PTTL', packet_key)
if left_ms <= 86400000 then
  return or_owned('packet_expired')
elseif left_ms > tonumber(string.sub(state, 2, 9), 36) then
  return or_owned('packet_not_started')
end

local offset, offered_ms, returned = 0, '', ''
if letter == 'R' then
  offset, offered_ms, returned = string.match(state, '|([^,]*),([^,]*)(.*)$')
  if offered_ms ~= '' and left_ms > tonumber(offered_ms) then
    -- It was emptied and got a number back, which is offered in a second (packet_amend).
    return or_owned('packet_emptied')
  end
end
