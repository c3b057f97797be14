-- Every call brings the hash tag of the group (`tag`), the calling hive (`hive`) and the time (`now`).
local now_text = now
now = tonumber(now)
local call = redis.call
local quoted = cjson.encode

-- At most so many values in one command: Lua's stack is finite.
local CHUNK = 1000

-- Runs a command on all values, a chunk at a time.
local function in_chunks(command, key, values)
  for first = 1, #values, CHUNK do
    call(command, key, unpack(values, first, math.min(first + CHUNK - 1, #values)))
  end
end

-- A list or an object out of JSON; `{}` is an empty list too. Other programs write here, and what makes no sense is
-- empty: it must not stop what does.
local function table_of(text)
  if not text or #text <= 2 then return {} end
  local ok, value = pcall(cjson.decode, text)
  return ok and type(value) == 'table' and value or {}
end
