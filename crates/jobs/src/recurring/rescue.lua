--[[
  Schedules jobs again that somebody took out of the schedule and did not put back.

  KEYS  1 rjobs   2 hash   3 purgatory   4 since
  ARGV  1 digest   2 now   3 after   4 jobs...
        A job is its digest and its next run, which is empty when it has none.
  A job that has not been seen in purgatory before is rescued so many seconds later; with 0, all are rescued at once.
  Returns how many jobs are scheduled again, and how many are of no list that is in force.
  Errors  OTHER_LIST
]]
local rjobs, hash, purgatory, since = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now_text, now, after = now, tonumber(now), tonumber(after)

local stored = redis.call('GET', hash)
if stored ~= digest then return redis.error_reply('OTHER_LIST ' .. (stored or '')) end

local next_run = {}
for at = JOBS_AT, #ARGV, 2 do next_run[ARGV[at]] = ARGV[at + 1] end

local rescued, unknown = 0, 0
local inside = {}
for _, job in ipairs(redis.call('SMEMBERS', purgatory)) do
  local seen = redis.call('ZSCORE', since, job)
  if after == 0 or (seen and now - tonumber(seen) >= after) then
    redis.call('SREM', purgatory, job)
    local score = next_run[job]
    if not score then
      unknown = unknown + 1
    elseif score ~= '' then
      redis.call('ZADD', rjobs, 'NX', score, job)
      rescued = rescued + 1
    end
  else
    inside[job] = true
    if not seen then redis.call('ZADD', since, now_text, job) end
  end
end

for _, job in ipairs(redis.call('ZRANGE', since, 0, -1)) do
  if not inside[job] then redis.call('ZREM', since, job) end
end
return { rescued, unknown }
