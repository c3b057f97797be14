--[[
  Reads what was worked out before.

  KEYS  1 overall   2 steps...
  Returns the overall time, then a, b and check of each step; nothing when any is missing. Absent fields are empty.
]]
-- Whatever another program put there, of whatever type, is as good as nothing.
local overall = redis.pcall('GET', KEYS[1])
if type(overall) ~= 'string' then return {} end

local answer = { overall }
for at = 2, #KEYS do
  local fit = redis.pcall('HMGET', KEYS[at], 'a', 'b', 'check')
  if fit.err or not fit[1] then return {} end
  for field = 1, 3 do answer[#answer + 1] = fit[field] or '' end
end
return answer
