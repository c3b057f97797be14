--[[
  Counts a completed trace and retains it if the sampling says so. A bar with other steps gets those of the trace first.

  KEYS  1 trace   2 bar   3 steps   4 traces   5 samples   6 paces   7 bars   8 count   9 stored   10 stale...
  ARGV  1 created_at   2 last_updated_at   3 revision   4 trace_uid   5 linger   6 sample_uid   7 sample
        8 pace   9 technique   10 max_count   11 interval_start   12 age_start   13 ages   14 clip_end   15 count_ttl
        16 roll   17 evict_roll   18 name   19 bars_max   20 bar_created_at   21 member   22 gone_at   23 values...
        The first two say which trace was read, the revision which bar. Retained traces from before age_start are dropped if
        ages is 1. The pace is empty if not known. The values are those of write_bar, or absent when the steps stay.
  Derives step(<position>) and trace_pace from the trace.
  Returns retained or counted; gone when the trace is another or has been counted; changed when the bar is another.
  Errors  TOO_MANY_BARS
]]
--- @include "steps"
--- @include "bar"
local bar, steps, traces, samples, paces, bars, count = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local max_count = tonumber(max_count)

local stored = call('HMGET', trace, 'created_at', 'last_updated_at', 'done', 'counted', 'current_step')
local is_that_trace = tonumber(stored[1] or '') == tonumber(created_at)
  and tonumber(stored[2] or '') == tonumber(last_updated_at) and stored[3] == '1'
if not is_that_trace or stored[4] then return 'gone' end
if not is_as_read(bar, revision) then return 'changed' end

if #ARGV >= VALUES_AT then
  if not enter_list(bars, name, bar_created_at, tonumber(bars_max)) then return refuse_bar() end
  write_bar(bar, steps, ARGV, VALUES_AT)
  forget_samples(traces, samples, paces)
  drop_stale(10)
end

call('ZADD', count, 'NX', created_at, trace_uid)
call('ZREMRANGEBYSCORE', count, '-inf', clip_end)
call('EXPIRE', count, count_ttl)

local function is_retained()
  if technique == 'systematic' then
    return call('ZCOUNT', traces, '(' .. interval_start, '+inf') == 0
  end
  local n_traces = call('ZCOUNT', count, age_start, '+inf')
  return n_traces <= max_count or tonumber(roll) * n_traces < max_count
end

local function drop(uids)
  if #uids == 0 then return 0 end
  call('ZREM', traces, unpack(uids))
  call('HDEL', samples, unpack(uids))
  call('HDEL', paces, unpack(uids))
  return #uids
end

local function drop_old()
  local dropped = 0
  while true do
    local n = drop(call('ZRANGEBYSCORE', traces, '-inf', '(' .. age_start, 'LIMIT', 0, CHUNK))
    dropped = dropped + n
    if n < CHUNK then return dropped end
  end
end

-- The oldest go. A random sample only stays one if any of them may: it swaps one for the new one.
local function drop_surplus()
  local n_retained = call('ZCARD', traces)
  local surplus = n_retained - max_count
  if surplus == 1 and technique ~= 'systematic' then
    local rank = math.floor(tonumber(evict_roll) * n_retained)
    return drop(call('ZRANGE', traces, rank, rank))
  end
  local dropped = 0
  while dropped < surplus do
    dropped = dropped + drop(call('ZRANGE', traces, 0, math.min(CHUNK, surplus - dropped) - 1))
  end
  return dropped
end

local retained = is_retained()
if retained then
  call('ZADD', traces, created_at, sample_uid)
  call('HSET', samples, sample_uid, sample)
  if pace ~= '' then call('HSET', paces, sample_uid, pace) end
end
local dropped = (ages == '1' and drop_old() or 0) + drop_surplus()
if retained or dropped > 0 then
  call('HINCRBY', bar, 'sampled', 1)
  drop_stale(10)
end

call('HSET', trace, 'counted', '1')
call('EXPIRE', trace, linger)
call('EXPIRE', pace_key, linger)
call('ZADD', KEYS[9], 'XX', gone_at, member)
for position = 1, tonumber(stored[5]) or 0 do call('EXPIRE', step_key(position), linger) end
return retained and 'retained' or 'counted'
