--[[
  Mutes a group of failures, or lets it be heard again.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 id   6 mute   7 mutes_max   8 kept_s
        An empty mute lets the group be heard again.
  Derives the keys of the queue under the same hash tag.
  Returns ok, GONE when there is no such group, or FULL when as many groups are muted as may be.
]]
--- @include "keys"

local key = error_mutes_key(queue)
local is_known = call('HEXISTS', errors_key(queue), id) == 1
local is_muted = call('HEXISTS', key, id) == 1
if mute == '' then
  if not (is_known or is_muted) then return 'GONE' end
  call('HDEL', key, id)
  return 'ok'
end
if not is_known then return 'GONE' end
local mutes = call('HGETALL', key)
local n_mutes = is_muted and 0 or 1
for at = 1, #mutes, 2 do
  if (tonumber(table_of(mutes[at + 1]).ends_at) or 0) <= now then
    call('HDEL', key, mutes[at])
  else
    n_mutes = n_mutes + 1
  end
end
if n_mutes > tonumber(mutes_max) then return 'FULL' end
call('HSET', key, id, mute)
call('EXPIRE', key, tonumber(kept_s))
return 'ok'
