--[[
  Takes an amount from a limit, if there is so much left.

  KEYS  1 limit   2 held...
  ARGV  1 kind   2 now_ms   3 max   4 period_ms   5 burst   6 amount   7 quota   8 member   9 granted_until
        The kind is window or steady; the burst is only for the latter. The quota says how many limits the user may have, 0 for any
        number. On a cluster the list of those is in another slot, so held is absent: what was granted there is passed on.
  Returns whether it was taken, how much is left, after how many milliseconds it would be allowed (-1: never), and after how
  many milliseconds everything is back.
  Errors  TOO_MANY_LIMITS  UNCOUNTED
]]
--- @include "quota"
local limit, held = KEYS[1], KEYS[2]
local now, max, period = tonumber(now_ms), tonumber(max), tonumber(period_ms)
local burst, amount = tonumber(burst), tonumber(amount)
local quota, granted_until = tonumber(quota), tonumber(granted_until)

-- Stores a limit that lasts for some time, and counts it among its user's for that time and a while more, so that not every
-- change has to be counted. Returns why that is refused, if it is.
local function store(lasts, more, ...)
  local counted_until = math.max(tonumber(redis.call('HGET', limit, 'counted_until') or '') or 0, granted_until)
  if quota > 0 and counted_until < now + lasts then
    counted_until = now + lasts + more
    local ends_at = string.format('%d', counted_until)
    if not held then return redis.error_reply('UNCOUNTED ' .. ends_at) end
    if not enter_quota(held, member, now, ends_at, quota, lasts + more) then
      return redis.error_reply('TOO_MANY_LIMITS ' .. quota_opens_in(held, now))
    end
  end
  redis.call('DEL', limit)
  redis.call('HSET', limit, ...)
  if quota > 0 then redis.call('HSET', limit, 'counted_until', string.format('%d', counted_until)) end
  redis.call('PEXPIRE', limit, string.format('%d', lasts))
end

local function window()
  local window_at = tonumber(redis.call('HGET', limit, 'window_at') or '')
  local used = tonumber(redis.call('HGET', limit, 'used') or '') or 0
  -- A window that begins in the future is from before the clock was set back.
  if not window_at or now >= window_at + period or window_at > now then window_at, used = now, 0 end
  local ends_in = window_at + period - now
  if used + amount > max then
    return { 0, math.max(max - used, 0), amount > max and -1 or ends_in, ends_in }
  end
  used = used + amount
  if amount > 0 then
    local refusal =
      store(ends_in, 0, 'window_at', string.format('%d', window_at), 'used', string.format('%d', used))
    if refusal then return refusal end
  end
  return { 1, max - used, 0, used > 0 and ends_in or 0 }
end

-- Everything taken is a debt that is paid off at a steady pace; a burst is the largest debt.
local function steady()
  local pace = period / max
  local debt_max = burst * pace
  local taken_at = tonumber(redis.call('HGET', limit, 'taken_at') or '') or now
  local debt = tonumber(redis.call('HGET', limit, 'debt_ms') or '') or 0
  -- Nothing is paid off while the clock is behind; a debt beyond the burst is of another limit.
  debt = math.min(math.max(debt - math.max(now - taken_at, 0), 0), debt_max)
  local grown = debt + amount * pace
  -- Sums of fractions are not exact.
  local spare = debt_max * 1e-9 + 1e-6
  if grown > debt_max + spare then
    local left = math.floor((debt_max - debt + spare) / pace)
    local wait = math.max(math.ceil(grown - debt_max - spare), 1)
    return { 0, left, amount > burst and -1 or wait, math.ceil(debt - spare) }
  end
  if amount > 0 then
    local lasts = math.max(math.ceil(grown), 1)
    local refusal = store(lasts, math.ceil(debt_max), 'taken_at', string.format('%d', now), 'debt_ms',
      string.format('%.17g', grown))
    if refusal then return refusal end
  end
  return { 1, math.floor((debt_max - grown + spare) / pace), 0, math.max(math.ceil(grown - spare), 0) }
end

return kind == 'window' and window() or steady()
