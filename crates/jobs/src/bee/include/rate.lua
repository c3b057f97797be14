-- How many may start in some time.
--
-- Starts are counted in slots of a thousandth of the limit's time, so that a limit takes little room whatever it allows.
-- A slot counts until its last millisecond is over for that time: in no stretch of the time do more jobs start.
--- @include "keys"

local RATE_SLOTS = 1000

-- The last slot that counts no more.
local function last_over(rate_ms)
  local width = math.ceil(rate_ms / RATE_SLOTS)
  return math.floor((now - rate_ms - width + 1) / width)
end

-- How many jobs the limit still lets start, and when it lets the next. A member of the set is the number of all starts
-- up to the end of its slot.
local function rate_allows(key, rate_max, rate_ms)
  local over = last_over(rate_ms)
  local before = call('ZREVRANGEBYSCORE', key, over, '-inf', 'LIMIT', 0, 1)[1] or '0'
  local all = call('ZRANGE', key, -1, -1)[1] or '0'
  local oldest = call('ZRANGEBYSCORE', key, '(' .. string.format('%.0f', over), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  local width = math.ceil(rate_ms / RATE_SLOTS)
  local again_at = oldest and (tonumber(oldest) + 1) * width - 1 + rate_ms or now
  return rate_max - (tonumber(all) - tonumber(before)), again_at
end

local function spend_rate(key, rate_ms, started)
  local width = math.ceil(rate_ms / RATE_SLOTS)
  local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
  local slot = math.max(math.floor(now / width), tonumber(last[2] or nil) or 0)
  if tonumber(last[2] or nil) == slot then call('ZREM', key, last[1]) end
  call('ZADD', key, slot, string.format('%.0f', (tonumber(last[1] or nil) or 0) + started))
  local over = call('ZREVRANGEBYSCORE', key, last_over(rate_ms), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if over then call('ZREMRANGEBYSCORE', key, '-inf', '(' .. over) end
  call('PEXPIRE', key, rate_ms + width)
end
