-- What becomes of a job that waits for nobody any more: delayed, or into the working queue.
--- @include "enter"

-- Tells idle workers when a delayed job is due, so that one of them asks for it at that time.
local function announce_due(jid, queue, till)
  local channel = queue_events_key(queue)
  if not is_heard(channel) then return end
  publish(channel, '{"type":"delayed","jid":' .. quoted(jid) .. ',"queue":' .. quoted(queue) .. ',"till":' .. till .. '}')
end

-- Stores until when a job is delayed. Returns its history entry. Who asks for jobs is told when the first of them is due, so
-- others need not be announced, except for a job that was running: the end of its attempt may let another one start. `extra`
-- is what the entry says besides.
local function delay_by(jid, queue, delay, was_running, extra)
  local key, till = delayed_key(queue), string.format('%.14g', now + delay)
  call('ZADD', key, now + delay, jid)
  if was_running or call('ZRANGE', key, 0, 0)[1] == jid then announce_due(jid, queue, till) end
  return entry('delayed', ',"till":' .. till .. (extra or ''))
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
