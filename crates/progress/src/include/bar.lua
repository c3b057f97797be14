-- Changes of a bar: KEYS are bar, steps, traces, samples, paces and bars in any script that includes this.
local call = redis.call

-- At most so many values in one command: Lua's stack is finite.
local CHUNK = 1000

-- Runs a command on the values from a place on, a chunk at a time.
local function in_chunks(command, key, values, first)
  for from = first, #values, CHUNK do
    call(command, key, unpack(values, from, math.min(from + CHUNK - 1, #values)))
  end
end

-- Whether the bar is the one that the caller has read; an empty revision stands for no bar.
local function is_as_read(bar, revision) return (call('HGET', bar, 'revision') or '') == revision end

-- Drops all retained traces.
local function forget_samples(traces, samples, paces) call('DEL', traces, samples, paces) end

-- Drops what was worked out from what has changed.
local function drop_stale(first)
  for at = first, #KEYS do call('DEL', KEYS[at]) end
end

-- Writes a bar and its steps. The values from a place on are the number of fields, names and values of the fields, and
-- the steps.
local function write_bar(bar, steps, values, first)
  local n_fields = tonumber(values[first])
  call('HDEL', bar, 'sampling_max_age_seconds')
  call('HSET', bar, unpack(values, first + 1, first + 2 * n_fields))
  call('DEL', steps)
  in_chunks('RPUSH', steps, values, first + 2 * n_fields + 1)
end

-- Puts a bar into its user's list; false when the list is full.
local function enter_list(bars, name, created_at, bars_max)
  if call('ZSCORE', bars, name) then return true end
  if call('ZCARD', bars) >= bars_max then return false end
  call('ZADD', bars, created_at, name)
  return true
end

local function refuse_bar() return redis.error_reply('TOO_MANY_BARS are in the list') end
