-- Taking a job from its worker.
--- @include "keys"

local function unlock(jid, queue, worker)
  call('ZREM', locks_key(queue), jid)
  call('SREM', worker_locks_key(worker), jid)
end
