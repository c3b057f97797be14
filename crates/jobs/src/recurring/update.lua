--[[
  Puts a list of jobs in force, unless it is.

  KEYS  1 rjobs   2 hash   3 purgatory   4 since   5 paused   6 version
  ARGV  1 digest   2 list_version   3 values...
        The values are a number and so many digests that the list has at other times of the year; then for each job its
        digest, its next run, a number and so many digests that it has at any time of the year, this one included.
  A job keeps its score if that is before its next run, and stays paused. Jobs that are not listed are gone.
  A list in force whose version is newer stays.
  Returns the digest of the list that is in force now.
  Errors  NEWER_LIST
]]
local rjobs, hash, purgatory, since, paused = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local version = KEYS[6]

local at = VALUES_AT - 1
local function take()
  at = at + 1
  return ARGV[at]
end

local stored = redis.call('GET', hash)
local held = tonumber(redis.call('GET', version) or '0')
local is_newer = tonumber(list_version) > held
for _ = 1, tonumber(take()) do
  if take() == stored then
    if is_newer then redis.call('SET', version, list_version) end
    return stored
  end
end
if stored and held > tonumber(list_version) then
  return redis.error_reply('NEWER_LIST ' .. string.format('%d', held))
end

local scores, stay_paused = {}, {}
while at < #ARGV do
  local job, score = take(), take()
  for _ = 1, tonumber(take()) do
    local name = take()
    local old = redis.call('ZSCORE', rjobs, name)
    if old and (score == '' or tonumber(old) < tonumber(score)) then score = old end
    if redis.call('SISMEMBER', paused, name) == 1 then stay_paused[#stay_paused + 1] = job end
  end
  if score ~= '' then scores[#scores + 1] = { score, job } end
end

redis.call('DEL', rjobs, purgatory, since, paused)
for _, scored in ipairs(scores) do redis.call('ZADD', rjobs, scored[1], scored[2]) end
for _, job in ipairs(stay_paused) do redis.call('SADD', paused, job) end
redis.call('SET', hash, digest)
if is_newer then redis.call('SET', version, list_version) end
return digest
