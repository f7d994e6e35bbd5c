-- Returns why a lottery, whose field "#" is *state*, gives nothing now or on that day; or nil and its rules.
local function refusal(state, day_starts_ms, day_ends_ms, now)
  if not state then
    return 'campaign_not_loaded'
  end
  local rules = read_rules(state)
  if now >= rules.ends_at_ms then
    return 'campaign_ended ' .. rules.version
  elseif now < rules.starts_at_ms then
    return 'campaign_not_started ' .. rules.version
  elseif string.sub(state, 1, 1) == 'P' then
    return 'campaign_paused ' .. rules.version
  elseif now < day_starts_ms or now >= day_ends_ms then
    return 'wrong_day'
  end
  return nil, rules
end
