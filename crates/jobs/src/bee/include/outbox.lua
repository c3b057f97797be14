-- Which ends of jobs are written down for webhooks, in the call in which the job ends. A store
-- without webhooks pays nothing for it when jobs are settled, and one EXISTS in other calls.
--- @include "keys"

-- What outbox_kinds says, under the names of queues; under the empty name, whether there is such a key.
local outbox = {}

-- Whether jobs of the queue that end with the status are to be written down. Scripts also ask without
-- arguments before they write anything, because in a moving slot a key is read before the first write.
local function is_for_outbox(status, queue)
  if outbox[''] == nil then
    outbox[''] = call('EXISTS', outbox_kinds_key()) == 1
    if outbox[''] then call('EXISTS', outbox_key(), outbox_dropped_key()) end
  end
  if not (outbox[''] and queue) then return false end
  if not outbox[queue] then
    local of = call('HMGET', outbox_kinds_key(), queue, '')
    outbox[queue] = (of[1] or '') .. (of[2] or '')
  end
  return outbox[queue]:find(' ' .. status .. ' ', 1, true) ~= nil
end
