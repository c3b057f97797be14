-- Taking a job out of wherever it waits.
--- @include "named_limits"
--- @include "reserved"

local function withdraw(job)
  local jid, queue, tenant = job[JID], job[QUEUE], job[TENANT]
  call('ZREM', delayed_key(queue), jid)
  if call('ZREM', queue_key(queue), jid) == 0 and job[STATUS] == 'queued' then leave_reservation(job) end
  call('ZREM', waiting_key(queue), jid)
  unrank(jid, queue, table_of(job[OPTIONS]).priority)
  named_limits.withdrawn(job)
  if tenant then
    call('ZREM', parked_key(queue, tenant), jid)
    left_queue(jid, queue, tenant)
    feed(queue, tenant)
  end
end
