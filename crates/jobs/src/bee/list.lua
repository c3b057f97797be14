--[[
  Some entries of a sorted set, from a place on.

  The place is that of the last entry that was handed out before, which may be gone: it goes on behind where that was.

  KEYS  1 set
  ARGV  1 tag   2 hive   3 now   4 newest   5 max   6 score   7 member
        With newest 1 from the highest score down. An empty score is the beginning.
  Returns the entries, the score of the last, and whether they go to the end of the set.
]]
--- @include "call"

local set, newest, max = KEYS[1], newest == '1', tonumber(max)

-- Whether a comes before b as bytes; Lua would compare as the server's language does.
local function comes_before(a, b)
  for at = 1, math.min(#a, #b) do
    local x, y = a:byte(at), b:byte(at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- How many entries come before the place, or at it when `inclusive`. Many have the same score, so this halves the set.
local function entries_before(score, member, inclusive)
  local low, high = 0, call('ZCARD', set)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local entry = call('ZRANGE', set, middle, middle, 'WITHSCORES')
    local other = tonumber(entry[2])
    local is_before = other < score
      or (other == score and (comes_before(entry[1], member) or (inclusive and entry[1] == member)))
    if is_before then low = middle + 1 else high = middle end
  end
  return low
end

local function next_entries()
  if score == '' then return call(newest and 'ZREVRANGE' or 'ZRANGE', set, 0, max - 1) end
  local before = entries_before(tonumber(score), member, not newest)
  if not newest then return call('ZRANGE', set, before, before + max - 1) end
  local skipped = call('ZCARD', set) - before
  return call('ZREVRANGE', set, skipped, skipped + max - 1)
end

local entries = next_entries()
local count = #entries
return { entries, count > 0 and call('ZSCORE', set, entries[count]) or '', count < max and 1 or 0 }
