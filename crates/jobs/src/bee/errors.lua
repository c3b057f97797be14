--[[
  Reads the groups of failures of a queue, and which of them are muted.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue
  Derives the keys of the queue under the same hash tag.
  Returns the groups as JSON, each behind its id, and the mutes likewise.
]]
--- @include "keys"

return { call('HGETALL', errors_key(queue)), call('HGETALL', error_mutes_key(queue)) }
