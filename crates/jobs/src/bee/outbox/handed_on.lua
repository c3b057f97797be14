--[[
  Takes the oldest ends of jobs out of the outbox, unless others have taken out some of them.

  KEYS  1 outbox
  ARGV  1 first   2 n_entries
  Returns 1, or 0 if there is another first entry.
]]
if redis.call('LINDEX', KEYS[1], 0) ~= first then return 0 end
redis.call('LTRIM', KEYS[1], n_entries, -1)
return 1
