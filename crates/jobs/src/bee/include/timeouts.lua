-- Until when a running job has to end, and until when a waiting one has to start. Most queues have neither, which costs them
-- one question for each call.
--- @include "keys"

-- The keys by queue, as far as there are such keys.
local timed, awaited_starts = {}, {}
local function if_any(found, key_of, queue)
  if found[queue] == nil then
    local key = key_of(queue)
    found[queue] = call('EXISTS', key) == 1 and key
  end
  return found[queue]
end

local function forget_start_by(jid, queue)
  local key = if_any(awaited_starts, start_by_key, queue)
  if key then call('ZREM', key, jid) end
end

-- How long an attempt at a job of the queue may take that says nothing about it itself.
local default_timeouts = {}
local function default_timeout(queue)
  if default_timeouts[queue] == nil then
    default_timeouts[queue] = tonumber(call('HGET', settings_key(queue), 'timeout_ms') or nil) or false
  end
  return default_timeouts[queue]
end

-- How long an attempt at a job may take, if that is limited.
local function timeout_of(options, queue)
  -- Reading JSON would take longer than the rest.
  local own = options:find('"timeout"', 1, true) and tonumber(table_of(options).timeout)
  return own or default_timeout(queue)
end

-- A job begins to run.
local function begin_timeout(jid, queue, options)
  forget_start_by(jid, queue)
  local timeout = timeout_of(options, queue)
  if not timeout then return end
  timed[queue] = timeouts_key(queue)
  call('ZADD', timed[queue], string.format('%.0f', now + timeout), jid)
end

-- A job runs no longer.
local function end_timeout(jid, queue)
  local key = if_any(timed, timeouts_key, queue)
  if key then call('ZREM', key, jid) end
end

-- Neither counts any more.
local function forget_deadlines(jid, queue)
  end_timeout(jid, queue)
  forget_start_by(jid, queue)
end
