--[[
  Queues due jobs and sets their next runs.

  KEYS  1 rjobs   2 hash   3 paused   4 hot
  ARGV  1 digest   2 jobs...
        A job is its digest, the score with which it was found due, its next run, a number and so many entries for the
        hot queue. A job without a next run leaves the schedule.
  Returns a word for each job: queued, paused, or taken when somebody else was quicker.
  Errors  OTHER_LIST
]]
local rjobs, hash, paused, hot = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local stored = redis.call('GET', hash)
if stored ~= digest then return redis.error_reply('OTHER_LIST ' .. (stored or '')) end

local words = {}
local at = JOBS_AT
while at <= #ARGV do
  local job, score, next_run, entries = ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3])
  local word = 'taken'
  if redis.call('ZSCORE', rjobs, job) == score then
    word = redis.call('SISMEMBER', paused, job) == 1 and 'paused' or 'queued'
    if word == 'queued' then
      for entry = at + 4, at + 3 + entries do redis.call('RPUSH', hot, ARGV[entry]) end
    end
    if next_run == '' then
      redis.call('ZREM', rjobs, job)
    else
      redis.call('ZADD', rjobs, next_run, job)
    end
  end
  words[#words + 1] = word
  at = at + 4 + entries
end
return words
