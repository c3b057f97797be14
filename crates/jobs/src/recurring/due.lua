--[[
  Looks which jobs are due. Changes nothing.

  KEYS  1 rjobs   2 hash   3 purgatory   4 since   5 paused
  ARGV  1 now   2 max
  Returns the digest of the list in force, how many jobs are or were seen in purgatory, when the first job that is not due
  will be, and for up to max due jobs their digest, score and whether they are paused, the longest waiting first.
]]
local rjobs, hash, purgatory, since, paused = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local due = redis.call('ZRANGEBYSCORE', rjobs, '-inf', now, 'WITHSCORES', 'LIMIT', 0, max)
local jobs = {}
for at = 1, #due, 2 do
  jobs[#jobs + 1] = { due[at], due[at + 1], redis.call('SISMEMBER', paused, due[at]) }
end
local later = redis.call('ZRANGEBYSCORE', rjobs, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return {
  redis.call('GET', hash),
  redis.call('SCARD', purgatory) + redis.call('ZCARD', since),
  later[2] or false,
  jobs,
}
