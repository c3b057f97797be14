--[[
  Gives back the jobs of a worker that stops, and forgets the worker.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue_name   5 worker
  Derives the keys of the queue, the worker and its jobs under the same hash tag.
  Returns the jids given back.
]]
--- @include "fence"
--- @include "give_back"
--- @include "reserved"
--- @include "unlock"

local queue, worker = ARGV[4], ARGV[5]
local given_back = {}
for _, jid in ipairs(call('SMEMBERS', worker_locks_key(worker))) do
  local job = read_job(jid)
  unlock(jid, queue, worker)
  if not refusal(job, queue, worker, '') then
    give_back(job)
    if job[TENANT] then left_worker(jid, queue, job[TENANT]) end
    given_back[#given_back + 1] = jid
  end
end
local lots = call('HGETALL', reserved_key(queue))
for at = 1, #lots, 2 do
  if worker_of(lots[at]) == worker then
    for _, job in ipairs(dissolve(queue, lots[at], lots[at + 1])) do
      give_back(job)
      given_back[#given_back + 1] = job[JID]
    end
  end
end
call('ZREM', bees_key(queue), worker)
call('HDEL', workers_key(queue), worker)
return given_back
