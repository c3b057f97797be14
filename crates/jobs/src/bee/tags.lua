--[[
  Replaces the tags of a job.

  KEYS  1 job
  ARGV  1 tag   2 hive   3 now   4 jid   5 tags
  Derives the keys of the tags under the same hash tag.
  Returns ok, or GONE when there is no such job.
]]
--- @include "events"

local job = read_job(jid)
if not job then return 'GONE' end
for _, name in ipairs(table_of(job[TAGS])) do call('SREM', tags_key(name), jid) end
-- A job that is set to die is not found any more: nobody would take it out of the sets of its tags.
if call('PTTL', KEYS[1]) < 0 then
  for _, name in ipairs(table_of(tags)) do call('SADD', tags_key(name), jid) end
end
call('HSET', KEYS[1], 'tags', tags)
return 'ok'
