--[[
  Corrects how many iterations the current step of a trace has.

  KEYS  1 trace   2 events
  ARGV  1 step_name   2 iterations   3 ttl
        With 0 iterations the step is a one-off step.
  Derives step(<position>) and trace_pace from the trace.
  Returns the position of the step.
  Errors  TRACE_NOT_FOUND  TRACE_COMPLETED  STEP_MISSING  MISSING_START_TIME
]]
--- @include "steps"
--- @include "publish"
local call = redis.call

local stored = call('HMGET', trace, 'current_step', 'done', 'failed_at')
local position = tonumber(stored[1])
if not position then return redis.error_reply('TRACE_NOT_FOUND there is none') end
if stored[2] == '1' or stored[3] then return redis.error_reply('TRACE_COMPLETED it has ended') end

local current_key = step_key(position)
local current = call('HMGET', current_key, 'step_name', 'iteration')
if not current[1] then return redis.error_reply('STEP_MISSING ' .. stored[1]) end
if current[1] ~= step_name then return redis.error_reply('MISSING_START_TIME it is not the current step') end

call('HSET', current_key, 'iterations', iterations)
if (tonumber(current[2]) or 0) > tonumber(iterations) then call('HSET', current_key, 'iteration', iterations) end
for step = 1, position do call('EXPIRE', step_key(step), ttl) end
call('EXPIRE', trace, ttl)
call('EXPIRE', pace_key, ttl)
publish(KEYS[2], 'updated')
return position
