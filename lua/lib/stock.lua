-- The numbered units of a prize, in total or for a day: "<issued_no>", then ",<no>" for each lower number that
-- was returned. Only the ledger records the units' owners.
local function read_stock(text)
  local issued_no, returned = string.match(text or '0', '^(%d+)(.*)$')
  local _, returned_count = string.gsub(returned, ',', ',')
  return { issued_no = tonumber(issued_no), returned = returned, count = issued_no - returned_count }
end

local function write_stock(stock)
  return stock.issued_no .. stock.returned
end

-- Returns a new number, or the lowest returned number if no new one is left. The number is at most *total* while
-- fewer than *total* units are issued, even if an operator has lowered *total*.
local function take_no(stock, total)
  stock.count = stock.count + 1
  if stock.issued_no < total then
    stock.issued_no = stock.issued_no + 1
    return stock.issued_no
  end
  local lowest = math.huge
  for number in string.gmatch(stock.returned, '%d+') do
    lowest = math.min(lowest, tonumber(number))
  end
  local rest = string.gsub(stock.returned .. ',', ',' .. lowest .. ',', ',', 1)
  stock.returned = string.sub(rest, 1, -2)
  return lowest
end

local function offer_no(stock, number)
  -- A number above issued_no counts as new, because the cache has lost the record of its issue.
  if number <= stock.issued_no then
    stock.returned = stock.returned .. ',' .. number
  end
end

local function raise_stock(stock, durable_no, free)
  for number in string.gmatch(free, '%d+') do
    -- A number up to issued_no is already issued, but its draw is not yet durable.
    if tonumber(number) > stock.issued_no then
      stock.returned = stock.returned .. ',' .. number
    end
  end
  stock.issued_no = math.max(stock.issued_no, durable_no)
end
