--[[
  Reads a trace with all its steps.

  KEYS  1 trace
  Derives step(<position>) and trace_pace from the trace.
  Returns the fields of the trace, then those of each step in order, with its pace; nothing when there is no trace. Absent fields are
  empty, and so is a step that is not there.
]]
--- @include "steps"
local call = redis.call

local function read(key, ...)
  local values = call('HMGET', key, ...)
  for at = 1, #values do values[at] = values[at] or '' end
  return values
end

local fields = read(trace, 'created_at', 'last_updated_at', 'current_step', 'done', 'counted', 'failed_at', 'exit_code',
  'signal', 'reports_every')
local n_steps = tonumber(fields[3])
if not n_steps then return {} end

local answer = { fields }
local paces = {}
local stored = call('HGETALL', pace_key)
for at = 1, #stored, 2 do paces[tonumber(stored[at])] = stored[at + 1] end
-- Whatever stands there, an answer has to end.
for position = 1, math.min(n_steps, 10000) do
  answer[position + 1] = read(step_key(position), 'step_name', 'iteration', 'iterations', 'started_at', 'finished_at')
  local step = answer[position + 1]
  step[#step + 1] = paces[position] or ''
end
return answer
