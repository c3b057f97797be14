--[[
  Ends a trace whose run has failed.

  KEYS  1 trace   2 events   3 stored   4 running...
  ARGV  1 now   2 exit_code   3 signal   4 ttl   5 member   6 stored_member   7 stored_slack
        The traces under way are kept elsewhere on a cluster, so running is absent there. What is not known is empty.
  Derives step(<position>) and trace_pace from the trace.
  Errors  TRACE_NOT_FOUND  TRACE_COMPLETED
]]
--- @include "steps"
--- @include "publish"
local call = redis.call

local stored = call('HMGET', trace, 'current_step', 'done', 'failed_at')
local position = tonumber(stored[1])
if not position then return redis.error_reply('TRACE_NOT_FOUND there is none') end
if stored[2] == '1' then return redis.error_reply('TRACE_COMPLETED it is done') end
-- Told twice: the first word counts.
if stored[3] then return redis.status_reply('OK') end

call('HSET', trace, 'failed_at', now, 'last_updated_at', now)
if exit_code ~= '' then call('HSET', trace, 'exit_code', exit_code) end
if signal ~= '' then call('HSET', trace, 'signal', signal) end
call('EXPIRE', trace, ttl)
call('EXPIRE', pace_key, ttl)
for step = 1, position do call('EXPIRE', step_key(step), ttl) end
local lives = tonumber(ttl) + tonumber(stored_slack)
call('ZADD', KEYS[3], string.format('%.6f', tonumber(now) + lives), stored_member)
call('EXPIRE', KEYS[3], string.format('%d', lives))
if KEYS[4] then call('ZREM', KEYS[4], member) end
publish(KEYS[2], 'failed')
return redis.status_reply('OK')
