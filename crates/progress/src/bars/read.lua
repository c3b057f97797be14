--[[
  Reads bars with their steps and, if asked, their samples.

  KEYS  1 keys...
        For each bar its hash, its steps, and if asked its samples and their paces.
  ARGV  1 with_samples
  Returns for each bar its fields, its steps, its samples, and traces and their paces in turn; nothing for one that is not there. Absent fields are empty.
]]
local call = redis.call
local with_samples = with_samples == '1'
local width = with_samples and 4 or 2

local answer = {}
for at = 1, #KEYS, width do
  local fields = call('HMGET', KEYS[at], 'uid', 'revision', 'version', 'sampling_max_count', 'sampling_max_age_seconds',
    'sampling_technique', 'created_at', 'sampled')
  local found = {}
  if fields[1] then
    for field = 1, #fields do fields[field] = fields[field] or '' end
    found = { fields, call('LRANGE', KEYS[at + 1], 0, -1), with_samples and call('HVALS', KEYS[at + 2]) or {},
      with_samples and call('HGETALL', KEYS[at + 3]) or {} }
  end
  answer[#answer + 1] = found
end
return answer
