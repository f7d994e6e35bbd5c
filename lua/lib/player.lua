-- A user's counts for a day: "<attempt_count>,<win_count>,<miss_streak>". Each help lowers the attempt count,
-- even below zero.
local function read_player(text)
  local attempt_count, win_count, miss_streak =
    string.match(text or '0,0,0', '^(%-?%d+),(%d+),(%d+)$')
  return {
    attempt_count = tonumber(attempt_count),
    win_count = tonumber(win_count),
    miss_streak = tonumber(miss_streak),
  }
end

local function write_player(player)
  return player.attempt_count .. ',' .. player.win_count .. ',' .. player.miss_streak
end

local function count_draw(player, is_won)
  return write_player({
    attempt_count = player.attempt_count + 1,
    win_count = player.win_count + (is_won and 1 or 0),
    miss_streak = is_won and 0 or player.miss_streak + 1,
  })
end
