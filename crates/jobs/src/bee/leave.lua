--[[
  Gives back the jobs of a worker that stops, and forgets the worker.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 worker
  Derives the keys of the queue, the worker and its jobs under the same hash tag.
  Returns the jids given back.
]]
--- @include "fence"
--- @include "give_back"
--- @include "named_limits"
--- @include "reserved"
--- @include "unlock"
--- @include "timeouts"

local given_back = {}
for _, jid in ipairs(call('SMEMBERS', worker_locks_key(worker))) do
  local job = read_job(jid)
  unlock(jid, queue, worker)
  end_timeout(jid, queue)
  if not refusal(job, queue, worker, '') then
    give_back(job)
    left_worker(job)
    given_back[#given_back + 1] = jid
  end
end
local reservations = call('HGETALL', reserved_key(queue))
for at = 1, #reservations, 2 do
  if worker_of(reservations[at]) == worker then
    for _, job in ipairs(dissolve(queue, reservations[at], reservations[at + 1])) do
      give_back(job)
      given_back[#given_back + 1] = job[JID]
    end
  end
end
call('ZREM', bees_key(queue), worker)
call('HDEL', workers_key(queue), worker)
return given_back
