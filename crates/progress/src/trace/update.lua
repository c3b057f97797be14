--[[
  Moves a trace on: a step begins, goes on or ends, and with the last one the trace.

  KEYS  1 trace   2 events   3 queue   4 stored   5 running...
  ARGV  1 now   2 step_name   3 iteration   4 iterations   5 done   6 entry   7 ttl   8 steps_max   9 member
        10 stored_member   11 stored_slack   12 marks   13 marks_max
        The traces under way are kept elsewhere on a cluster, so running is absent there. For a one-off step the iteration is empty and the iterations are 0. The entry is queued when the trace is done.
  Derives step(<position>) and trace_pace from the trace.
  Returns the position of the current step.
  Errors  TRACE_NOT_FOUND  TRACE_COMPLETED  STEP_MISSING  MISSING_START_TIME  STEP_RESERVED  STEP_REPEATED
          TOO_MANY_STEPS  STEP_CHANGED  BACKWARDS_PROGRESS
]]
--- @include "steps"
--- @include "publish"
local call = redis.call
local done = done == '1'

local function refuse(word, detail) return redis.error_reply(word .. ' ' .. detail) end

local stored = call('HMGET', trace, 'current_step', 'done', 'failed_at', 'last_updated_at')
local position = tonumber(stored[1])
if not position then return refuse('TRACE_NOT_FOUND', 'there is none') end
if stored[2] == '1' or stored[3] then return refuse('TRACE_COMPLETED', 'it has ended') end

local current_key = step_key(position)
local current = call('HMGET', current_key, 'step_name', 'iteration', 'iterations', 'started_at')
if not current[1] then return refuse('STEP_MISSING', stored[1]) end
local reached, total = tonumber(current[2]) or 0, current[3] or '0'

-- Why the step cannot begin, if it cannot.
local function why_no_new_step()
  if done or (iteration ~= '' and iteration ~= '0') then return 'MISSING_START_TIME' end
  if step_name == 'default' then return 'STEP_RESERVED' end
  for earlier = 1, position - 1 do
    if call('HGET', step_key(earlier), 'step_name') == step_name then return 'STEP_REPEATED' end
  end
  if position >= tonumber(steps_max) then return 'TOO_MANY_STEPS' end
end

-- A step that ends has completed all its iterations, whatever was told.
local function finish_current() call('HSET', current_key, 'iteration', total, 'finished_at', now) end

-- Keeps when iterations were reached, so that the pace of the step is known later: about as many marks for a step of any length, the
-- first iteration among them. Beyond marks_max, which takes a number of iterations that was corrected, every second one goes.
local function mark()
  local field = string.format('%d', position)
  local pace = call('HGET', pace_key, field) or ''
  local last = tonumber(string.match(pace, '(%d+):%S*$')) or 0
  if last > 0 and (tonumber(iteration) - last) * tonumber(marks) < tonumber(total) then return end
  if select(2, string.gsub(pace, ':', ':')) >= tonumber(marks_max) then pace = string.gsub(pace, '%S+ (%S+)', '%1') end
  local seconds = string.format('%.4f', tonumber(now) - (tonumber(current[4]) or 0))
  call('HSET', pace_key, field, (pace == '' and '' or pace .. ' ') .. iteration .. ':' .. seconds)
end

if step_name ~= current[1] then
  local word = why_no_new_step()
  if word then return refuse(word, 'it cannot begin') end
  finish_current()
  position = position + 1
  call('HSET', trace, 'current_step', string.format('%d', position))
  call('HSET', step_key(position), 'step_name', step_name, 'iteration', '0', 'iterations', iterations, 'started_at', now)
elseif tonumber(iterations) ~= tonumber(total) then
  return refuse('STEP_CHANGED', total)
elseif iteration ~= '' and tonumber(iteration) < reached then
  return refuse('BACKWARDS_PROGRESS', current[2])
elseif done then
  finish_current()
  call('HSET', trace, 'done', '1')
  call('RPUSH', KEYS[3], entry)
elseif iteration ~= '' and tonumber(iteration) > reached then
  call('HSET', current_key, 'iteration', iteration)
  mark()
end

call('HSET', trace, 'last_updated_at', now)
-- All steps, or a trace that runs for days would lose its first ones.
call('EXPIRE', trace, ttl)
call('EXPIRE', pace_key, ttl)
for step = 1, position do call('EXPIRE', step_key(step), ttl) end
-- It counts among the user's for as long as it lives. That has an hour to spare, so the first update in each hour is enough.
local function hour(at) return math.floor((tonumber(at) or 0) / 3600) end
if hour(now) ~= hour(stored[4]) then
  local lives = tonumber(ttl) + tonumber(stored_slack)
  call('ZADD', KEYS[4], string.format('%.6f', tonumber(now) + lives), stored_member)
  call('EXPIRE', KEYS[4], string.format('%d', lives))
end
if KEYS[5] then
  if done then call('ZREM', KEYS[5], member) else call('ZADD', KEYS[5], now, member) end
end
publish(KEYS[2], 'updated')
return position
