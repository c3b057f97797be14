--[[
  Reads what is needed to add values to a key.

  KEYS  1 head   2 settings   3 values   4 calculations   5 rule_counter   6 rules   7 more...
        The intervals of each calculation in the order of words, then the hashes to read.
  ARGV  1 words   2 rest...
        The number of times and the times, then for each hash the number of its fields and the fields.
  Returns the head, how many values there are, the settings, the declared calculations with an interval each, two numbers that
  change with the rules, the values at the times, and the fields of each hash.
]]
local call = redis.call
-- At most so many values in one command: Lua's stack is finite.
local CHUNK = 1000

local function fields_of(key, first, count)
  if count <= CHUNK then
    if count == 0 then return {} end
    return call('HMGET', key, unpack(ARGV, first, first + count - 1))
  end
  local all = {}
  for from = first, first + count - 1, CHUNK do
    local last = math.min(from + CHUNK, first + count) - 1
    for _, value in ipairs(call('HMGET', key, unpack(ARGV, from, last))) do all[#all + 1] = value end
  end
  return all
end

local at, intervals_key = 7, {}
for word in words:gmatch('%S+') do
  intervals_key[word] = KEYS[at]
  at = at + 1
end

local declared = {}
for _, calculation in ipairs(call('SMEMBERS', KEYS[4])) do
  local key = intervals_key[calculation]
  if key then
    for _, interval in ipairs(call('SMEMBERS', key)) do
      declared[#declared + 1] = calculation
      declared[#declared + 1] = interval
    end
  end
end

local n = tonumber(ARGV[REST_AT])
local reply = {
  call('HMGET', KEYS[1], 'version', 'built', 'builder', 'builder_at'),
  call('HLEN', KEYS[3]),
  call('HGETALL', KEYS[2]),
  declared,
  { call('GET', KEYS[5]) or '0', tostring(call('SCARD', KEYS[6])) },
  fields_of(KEYS[3], REST_AT + 1, n),
}
local first = REST_AT + 1 + n
for key = at, #KEYS do
  local count = tonumber(ARGV[first])
  reply[#reply + 1] = fields_of(KEYS[key], first + 1, count)
  first = first + 1 + count
end
return reply
