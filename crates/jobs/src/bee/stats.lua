--[[
  Counts what a queue holds and who works on it.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue
  Derives the keys of the queue, its workers and its tenants under the same hash tag.
  Returns numbers (queued, delayed, waiting, running, ended, failed, tenants, parked), the score of the first queued
  job, when the next delayed one is due, the settings, the counters of the open minutes and the records of the minutes of the last hour before, and for each worker its id,
  its last heartbeat, how many jobs it has, and what it tells about itself.
]]
--- @include "reserved"

-- With more tenants than this the number of parked jobs is told from a sample.
local TENANTS_MAX = 500
local WORKERS_MAX = 1000
local MINUTES_TOLD = 60

local function parked(tenants)
  if tenants == 0 then return 0 end
  local sample = call('HSCAN', tenants_key(queue), 0, 'COUNT', TENANTS_MAX)[2]
  local found, looked = 0, #sample / 2
  for at = 1, #sample, 2 do found = found + call('ZCARD', parked_key(queue, sample[at])) end
  return math.floor(found * tenants / math.max(looked, 1) + 0.5)
end

-- How many jobs each worker has reserved, and all of them together.
local function reserved()
  local of_workers, all = {}, 0
  local reservations = call('HGETALL', reserved_key(queue))
  for at = 1, #reservations, 2 do
    local worker, n = worker_of(reservations[at]), #jobs_in(reservations[at + 1])
    of_workers[worker], all = (of_workers[worker] or 0) + n, all + n
  end
  return of_workers, all
end

local reserved_by, n_reserved = reserved()

local function workers()
  local list = {}
  local bees = call('ZREVRANGE', bees_key(queue), 0, WORKERS_MAX - 1, 'WITHSCORES')
  for at = 1, #bees, 2 do
    local worker = bees[at]
    local running = call('SCARD', worker_locks_key(worker)) + (reserved_by[worker] or 0)
    list[#list + 1] = { worker, bees[at + 1], running, call('HGET', workers_key(queue), worker) or '' }
  end
  return list
end

-- What is recorded of the last hour: each minute, and its record as JSON.
local function recorded()
  local fields, found = {}, {}
  local minute = math.floor(now / 60000)
  for back = MINUTES_TOLD - 1, 0, -1 do fields[#fields + 1] = string.format('%d', minute - back) end
  local records = call('HMGET', times_minutes_key(queue), unpack(fields))
  for at = 1, #fields do
    if records[at] then found[#found + 1], found[#found + 2] = fields[at], records[at] end
  end
  return found
end

local tenants = call('HLEN', tenants_key(queue))
local counts = {
  call('ZCARD', queue_key(queue)), call('ZCARD', delayed_key(queue)), call('ZCARD', waiting_key(queue)),
  call('ZCARD', locks_key(queue)) + n_reserved, call('ZCARD', expires_key(queue)), call('ZCARD', failed_key(queue)),
  tenants, parked(tenants),
}
return {
  counts,
  call('ZRANGE', queue_key(queue), 0, 0, 'WITHSCORES')[2] or '',
  call('ZRANGE', delayed_key(queue), 0, 0, 'WITHSCORES')[2] or '',
  call('HGETALL', settings_key(queue)),
  call('HGETALL', minutes_key(queue)),
  recorded(),
  workers(),
}
