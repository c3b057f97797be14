-- The ends of jobs that are written down for webhooks, in the call in which the job ends. A queue without webhooks pays one question
-- for each call.
--- @include "keys"

-- What outbox_kinds says, by queue. A script has at most 200 locals at its left margin, so this one has few.
local outbox = { kinds = {}, entries_max = 100000, bytes_max = 8192 }

-- Whether jobs of the queue that end with the status are to be written down.
local function is_for_outbox(status, queue)
  local kinds = outbox.kinds[queue]
  if not kinds then
    local of = call('HMGET', outbox_kinds_key(), queue, '')
    kinds = (of[1] or '') .. (of[2] or '')
    outbox.kinds[queue] = kinds
    -- In a moving slot, a key is read before the first write.
    if kinds ~= '' then call('EXISTS', outbox_key(), outbox_dropped_key()) end
  end
  return kinds ~= '' and kinds:find(' ' .. status .. ' ', 1, true) ~= nil
end

-- Writes down that a job has ended. `fields` are names and their values as JSON, false for none.
local function put_into_outbox(fields)
  local members = {}
  for at = 1, #fields, 2 do
    if fields[at + 1] and #fields[at + 1] <= outbox.bytes_max then members[#members + 1] = '"' .. fields[at] .. '":' .. fields[at + 1] end
  end
  if call('RPUSH', outbox_key(), '{' .. table.concat(members, ',') .. '}') <= outbox.entries_max then return end
  call('LPOP', outbox_key())
  call('INCR', outbox_dropped_key())
end
