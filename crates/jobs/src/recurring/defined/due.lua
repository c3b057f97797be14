--[[
  Looks which jobs are due that were defined at run time. Changes nothing.

  KEYS  1 defined   2 due
  ARGV  1 now   2 max
  Returns when the first job that is not due will be, and for up to max due jobs their name, score and definition, the longest
  waiting first.
]]
local defined, due = KEYS[1], KEYS[2]

local names = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'WITHSCORES', 'LIMIT', 0, max)
local jobs = {}
for at = 1, #names, 2 do
  jobs[#jobs + 1] = { names[at], names[at + 1], redis.call('HGET', defined, names[at]) }
end
local later = redis.call('ZRANGEBYSCORE', due, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return { later[2] or false, jobs }
