-- A prize in the lottery's hash, keyed by the prize's id:
--   <weight>,<total>,<per_day>,<per_hour>,<1 if once-only, else 0>;<units, lib/stock>
local function read_prize(text)
  local weight, total, per_day, per_hour, is_once, units =
    string.match(text, '^(%d+),(%d+),(%d+),(%d+),(%d);(.*)$')
  return {
    weight = tonumber(weight),
    total = tonumber(total),
    per_day = tonumber(per_day),
    per_hour = tonumber(per_hour),
    is_once = is_once == '1',
    terms = string.match(text, '^[^;]+'),
    units = read_stock(units),
  }
end

local function write_prize(prize)
  return prize.terms .. ';' .. write_stock(prize.units)
end

-- Returns whether a unit is left in the given *hour* (hour_of). *today* is the day's stock.
local function is_left(prize, today, hour)
  local count = prize.units.count
  return count < prize.total
    and (prize.per_day == 0 or today.count < prize.per_day)
    and (prize.per_hour == 0 or count < prize.per_hour * hour)
end
