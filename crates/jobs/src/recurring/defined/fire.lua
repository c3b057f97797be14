--[[
  Queues due jobs that were defined at run time and sets their next runs.

  KEYS  1 defined   2 due   3 hot
  ARGV  1 jobs...
        A job is its name, the version that was read, the score with which it was found due, its next run, whether it stays
        without one, a number and so many entries for the hot queue.
  Returns a word for each job: done, or taken when it was changed or somebody else was quicker.
]]
local defined, due, hot = KEYS[1], KEYS[2], KEYS[3]

local words = {}
local at = JOBS_AT
while at <= #ARGV do
  local job, version, score, next_run = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local stays, entries = ARGV[at + 4], tonumber(ARGV[at + 5])
  local held = string.match(redis.call('HGET', defined, job) or '', '^{"version":(%d+),') or ''
  local word = 'taken'
  if held == version and redis.call('ZSCORE', due, job) == score then
    word = 'done'
    for entry = at + 6, at + 5 + entries do redis.call('RPUSH', hot, ARGV[entry]) end
    if next_run ~= '' then
      redis.call('ZADD', due, next_run, job)
    else
      redis.call('ZREM', due, job)
      if stays == '0' then redis.call('HDEL', defined, job) end
    end
  end
  words[#words + 1] = word
  at = at + 6 + entries
end
return words
