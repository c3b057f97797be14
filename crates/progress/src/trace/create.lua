--[[
  Begins a trace. An earlier one with the same uid is gone, all its steps with it.

  KEYS  1 trace   2 events   3 samples   4 months   5 stored   6 running...
  ARGV  1 now   2 uid   3 step_name   4 iterations   5 ttl   6 month   7 force   8 member   9 silent_since
        10 stored_member   11 stored_slack   12 traces_max   13 reports_every
        The traces under way are kept elsewhere on a cluster, so running is absent there. No promise of reports is an empty text. Without force, a completed trace that has not been counted is not replaced. The month is the field to count in: on a cluster months are counted in a hash of the user's own.
  Derives step(<position>) and trace_pace from the trace.
  Returns how many traces are counted in the month.
  Errors  UID_TAKEN  UNCOUNTED  TOO_MANY_TRACES
]]
--- @include "steps"
--- @include "publish"
--- @include "quota"
local call = redis.call

if call('HEXISTS', KEYS[3], uid) == 1 then return redis.error_reply('UID_TAKEN by a retained trace') end

local earlier = call('HMGET', trace, 'current_step', 'done', 'counted')
if earlier[2] == '1' and not earlier[3] and force ~= '1' then
  return redis.error_reply('UNCOUNTED trace')
end

local lives = tonumber(ttl) + tonumber(stored_slack)
local gone_at = string.format('%.6f', tonumber(now) + lives)
if not enter_quota(KEYS[5], stored_member, now, gone_at, tonumber(traces_max), lives * 1000) then
  return redis.error_reply('TOO_MANY_TRACES ' .. quota_opens_in(KEYS[5], tonumber(now)))
end

-- The original forgets how many steps it left behind, so look until there is none.
local known = tonumber(earlier[1]) or 0
local position = 1
while call('DEL', step_key(position)) == 1 or position <= known do position = position + 1 end
call('DEL', trace, pace_key)

call('HSET', trace, 'created_at', now, 'last_updated_at', now, 'current_step', '1', 'done', '0')
if reports_every ~= '' then call('HSET', trace, 'reports_every', reports_every) end
call('EXPIRE', trace, ttl)
call('HSET', step_key(1), 'step_name', step_name, 'iteration', '0', 'iterations', iterations, 'started_at', now)
call('EXPIRE', step_key(1), ttl)
if KEYS[6] then
  call('ZREMRANGEBYSCORE', KEYS[6], '-inf', silent_since)
  call('ZADD', KEYS[6], now, member)
end
publish(KEYS[2], 'created')
return call('HINCRBY', KEYS[4], month, 1)
