-- The last step of a job: its keys go, and its hash gets a time to live.
--- @include "events"

-- Sets one job to die. Whoever looks it up until then sees how it ended.
local function set_to_die(jid, job, ttl)
  call('PEXPIRE', job_key(jid), ttl)
  call('PEXPIRE', logs_key(jid), ttl)
  call('ZREM', expires_key(job[QUEUE]), jid)
  call('ZREM', failed_key(job[QUEUE]), jid)
  for _, name in ipairs(table_of(job[TAGS])) do call('SREM', tags_key(name), jid) end
  if job[PARENT] then call('SREM', children_key(job[PARENT]), jid) end
end

-- Ends a job with its last status. An original takes its duplicates with it; a duplicate dies alone, and so does
-- a job that died before and has left its hash to others.
local function die(jid, job, status)
  local ttl = math.floor(option(table_of(job[OPTIONS]), 'ttl'))
  call('HSET', job_key(jid), 'status', status)
  job[STATUS] = status
  if job[HASH] then
    local key = hashes_key(job[QUEUE], job[HASH])
    if job[DUPLICATE] or call('LINDEX', key, 0) ~= jid then
      call('LREM', key, 0, jid)
    else
      for _, other in ipairs(call('LRANGE', key, 0, -1)) do
        local found = other ~= jid and read_job(other)
        if found then set_to_die(other, found, ttl) end
      end
      call('DEL', key)
    end
  end
  set_to_die(jid, job, ttl)
end
