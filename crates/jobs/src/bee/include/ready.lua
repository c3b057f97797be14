-- What becomes of a job that waits for nobody any more: delayed, or into the working queue.
--- @include "enter"

-- Stores until when a job is delayed. Returns its history entry.
local function delay_by(jid, queue, delay)
  call('ZADD', delayed_key(queue), now + delay, jid)
  return entry('delayed', ',"till":' .. string.format('%.14g', now + delay))
end

local function release(jid, job)
  call('ZREM', waiting_key(job[QUEUE]), jid)
  local delay = option(table_of(job[OPTIONS]), 'delay')
  if delay > 0 then
    note(jid, delay_by(jid, job[QUEUE], delay))
  else
    enter_stored(jid, job)
  end
end

-- Releases the jobs that waited for this one, each that waits for no other.
local function release_dependants(job)
  for _, jid in ipairs(table_of(job[DEPENDANTS])) do
    -- A job can be listed twice, but waits once.
    local waited = call('SREM', dependencies_key(jid), job[JID]) == 1
    local dependant = waited and call('EXISTS', dependencies_key(jid)) == 0 and read_job(jid)
    if dependant and dependant[STATUS] == 'new' then release(jid, dependant) end
  end
end
