--[[
  Takes entries out of a list of a queue that do not belong there, some at a time. Node hives do not keep all lists.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 list   6 cursor
        The list is queue, delayed, waiting, failed or expires.
  Derives the keys of the queue and its jobs under the same hash tag.
  Returns how many entries it has changed, the next cursor, and failed jobs that are in no group of failures yet.
]]
--- @include "fail"

local ENTRIES = 100
local KEYS_OF = { queue = queue_key, delayed = delayed_key, waiting = waiting_key, failed = failed_key, expires = expires_key }
-- The status of jobs in lists that Node hives do not know.
local ONLY = { waiting = 'new', failed = 'failed' }

local key, changed, ungrouped = KEYS_OF[list](queue), 0, {}

local reply = call('ZSCAN', key, cursor, 'COUNT', ENTRIES)
for at = 1, #reply[2], 2 do
  local jid = reply[2][at]
  local status, group = unpack(call('HMGET', job_key(jid), 'status', 'errorGroup'))
  if not status or (ONLY[list] and status ~= ONLY[list]) then
    changed = changed + call('ZREM', key, jid)
  elseif list == 'expires' and status == 'failed' then
    changed = changed + list_failed(jid, queue, reply[2][at + 1])
  end
  if status == 'failed' and not group then ungrouped[#ungrouped + 1] = jid end
end
return { changed, reply[1], ungrouped }
