-- Canceled jobs that still run: their worker has been told, and has some time to stop them. Until it says that it has, they
-- take a place under the limit of their queue.
--- @include "events"

local function stopping_member(jid, attempt) return jid .. ' ' .. attempt end

-- Waits for the worker of a canceled job. Node's workers say nothing about themselves and do not stop.
local function await_stop(job)
  local info = table_of(call('HGET', workers_key(job[QUEUE]), job[WORKER]))
  local stop_ms = tonumber(info.stop_ms) or tonumber(info.lock_ms) or 0
  if stop_ms <= 0 then return end
  call('ZADD', stopping_key(job[QUEUE]), now + stop_ms, stopping_member(job[JID], job[ATTEMPTS] or '0'))
end

-- Takes note that a worker has stopped a job. Returns whether it was waited for.
local function has_stopped(jid, queue, attempt)
  return call('ZREM', stopping_key(queue), stopping_member(jid, attempt)) == 1
end

local function n_stopping(queue) return call('ZCOUNT', stopping_key(queue), '(' .. now_text, '+inf') end

-- When the first of them is waited for no longer.
local function first_stop_by(queue)
  return tonumber(call('ZRANGEBYSCORE', stopping_key(queue), '(' .. now_text, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or nil)
end
